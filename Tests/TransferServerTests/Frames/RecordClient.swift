import TransferModel
import TransferTestSupport

/// A client that makes its TLS records itself.
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

    /// Sends content as one record.
    func say(_ kind: UInt8, _ content: some Collection<UInt8>) throws {
        client.sendBare(try peer.seal(kind, content))
    }

    /// - Returns: the next content from the server; nil at the end of the connection.
    func hear() throws -> [UInt8]? {
        while let bytes = try client.receiveBare() {
            let content = try peer.content(bytes)
            if !content.isEmpty { return content }
        }
        return nil
    }
}
