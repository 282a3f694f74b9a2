import Testing
import TransferTestSupport

@testable import TransferIO

/// A client and a server in memory, and their keys.
struct TLSPair {
    static let serverSeed = [UInt8](repeating: 7, count: 32)
    static let clientSeed = [UInt8](repeating: 9, count: 32)

    let client: TLSSide
    let server: TLSSide

    static let serverContext = Result { try TLSContext.server(.ed25519(seed: serverSeed)) }

    /// Accepts every certificate of a server.
    static let trusting: TLSJudge = { _, _ in true }

    init(_ client: TLSContext? = nil, server: TLSContext? = nil, judge: TLSJudge? = nil) throws {
        self.client = try TLSSide(client ?? .client(), judge: judge ?? Self.trusting)
        self.server = try TLSSide(server ?? Self.serverContext.get())
    }

    var isEstablished: Bool { client.isEstablished && server.isEstablished }

    /// Passes whole flights on until both sides have finished.
    ///
    /// - Parameters:
    ///   - up, down: change the bytes to the server, and to the client.
    func shake(
        up: ([UInt8]) -> [[UInt8]] = { [$0] }, down: ([UInt8]) -> [[UInt8]] = { [$0] }
    ) throws {
        var toServer = try client.shake()
        // The handshake has two flights in each direction; a third round shows that no more follow.
        for _ in 0..<3 {
            var toClient: [UInt8] = []
            for piece in up(toServer) { toClient += try server.shake(piece) }
            toServer = []
            for piece in down(toClient) { toServer += try client.shake(piece) }
            if isEstablished, toServer.isEmpty { break }
        }
    }
}
