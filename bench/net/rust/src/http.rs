use crate::server::{announce, Options};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io::Result;
use std::time::Duration;
use tokio::net::TcpListener;

const GREETING: &[u8] = b"Hello, world!\n";

async fn answer(_: Request<Incoming>) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let answer = Response::builder().header(CONTENT_TYPE, "text/plain").body(Full::new(Bytes::from_static(GREETING)));
    Ok(answer.expect("it is well-formed"))
}

/// Answers every request with the same few bytes, as `weft_http.cc` does, with the limit on the time for a header that it has.
pub async fn serve(_: Options) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(&listener.local_addr()?.to_string());
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        tokio::spawn(async move {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10)).max_buf_size(16 << 10);
            let _ = http.serve_connection(TokioIo::new(connection), service_fn(answer)).await;
        });
    }
}
