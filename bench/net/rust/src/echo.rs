use crate::server::{announce, Options};
use std::io::Result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

async fn echo(mut connection: impl AsyncRead + AsyncWrite + Unpin, size: usize) -> Result<()> {
    let mut buffer = vec![0; size];
    loop {
        let n = connection.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        connection.write_all(&buffer[..n]).await?;
    }
}

pub async fn serve(options: Options) -> Result<()> {
    if let Some(path) = options.unix_path {
        let listener = UnixListener::bind(&path)?;
        announce(&format!("unix:{path}"));
        loop {
            let (connection, _) = listener.accept().await?;
            tokio::spawn(echo(connection, options.buffer));
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(&listener.local_addr()?.to_string());
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        tokio::spawn(echo(connection, options.buffer));
    }
}
