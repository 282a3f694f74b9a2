import TransferModel
import TransferTestSupport

/// A client that writes its records of TLS itself.
struct RecordClient {
    let peer: RecordPeer
    let client: RawClient

    init(_ server: TestServer) throws {
        peer = try RecordPeer(.client)
        client = try server.client()
        client.sendBare(try peer.shake())
        while !peer.isEstablished { client.sendBare(try peer.shake(bytes())) }
    }

    private func bytes() throws -> ArraySlice<UInt8> {
        guard let bytes = try client.receiveBare() else { throw RawClient.Failure(description: "the server closed") }
        return bytes
    }

    /// One record.
    func say(_ kind: UInt8, _ content: some Collection<UInt8>) throws {
        client.sendBare(try peer.seal(kind, content))
    }

    /// The server's next words, or nothing at the end.
    func hear() throws -> [UInt8]? {
        while let bytes = try client.receiveBare() {
            let content = try peer.content(bytes)
            if !content.isEmpty { return content }
        }
        return nil
    }
}
