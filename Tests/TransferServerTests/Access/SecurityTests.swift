import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// Answers to clients that use TLS where the server does not, or the other way round.
@Suite(.timeLimit(.minutes(10))) struct SecurityTests {
    @Test(arguments: [Frames.hello, [0], Array("GET / HTTP/1.1\r\n\r\n".utf8), [21, 3, 3, 0, 2, 1, 0]] as [[UInt8]])
    func aServerWithTLSRefusesEverythingElse(_ words: [UInt8]) async throws {
        try await serving({ $0.security = .identity }) { server in
            let client = try server.client()
            client.send(words)
            let result = try client.result()
            #expect(result.id == .none && result.code == .encryptionRequired)
            client.endSending()
            try client.waitForClose()
        }
    }

    @Test func aServerWithoutTLSSaysSo() async throws {
        try await serving { server in
            let client = try server.client()
            // The beginning of a TLS ClientHello.
            client.send([22, 3, 1, 2, 0, 1, 0, 1, 0xFC])
            let result = try client.result()
            #expect(result.id == .none && result.code == .unsupportedVersion && result.message.contains("--plaintext"))
            client.endSending()
            try client.waitForClose()
        }
    }

    /// The server sends nothing in plaintext, not even when it gives the client up.
    @Test(arguments: [[], [22], [22, 3, 1, 0, 5]] as [[UInt8]])
    func whoeverStopsInTheHandshakeIsGivenUp(_ words: [UInt8]) async throws {
        let timeout = { (configuration: inout ServerConfiguration) in
            configuration.security = .identity
            configuration.timeouts.handshake = .milliseconds(50)
        }
        try await serving(timeout) { server in
            let client = try server.client()
            client.send(words)
            #expect(try client.next() == .closed)
        }
    }

    @Test func whoeverLeavesInTheHandshakeIsForgotten() async throws {
        try await serving({ $0.security = .identity }) { server in
            for words in [[], [22], [22, 3, 1, 0, 5, 1]] as [[UInt8]] {
                let client = try server.client()
                client.send(words)
                client.endSending()
                try client.waitForClose()
            }
        }
    }

    /// TLS uses part of the server's time for a handshake.
    @Test func whoeverStopsInsideAMessageOfTLSIsGivenUp() async throws {
        try await growingTimeout { milliseconds in
            let timeout = { (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.timeouts.handshake = .milliseconds(milliseconds)
            }
            try await serving(timeout) { server in
                let client = try early { try RecordClient(server) }
                try client.say(RecordPeer.Kind.handshake, HandshakeMessage.keyUpdate(isRequested: true).prefix(4))
                // The server would send a reason to a client that has not begun a message.
                try early(client.hear() == nil)
            }
        }
    }

    /// Before it is authenticated, a client sends the header of a TLS message and nothing more while the server has an
    /// answer for it. The server continues once the message is complete.
    @Test func anAnswerInsideAMessageOfTLS() async throws {
        let everyone = { (configuration: inout ServerConfiguration) in
            configuration.security = .identity
            configuration.access = .everyone
        }
        try await serving(everyone) { server in
            let client = try RecordClient(server)
            let update = HandshakeMessage.keyUpdate(isRequested: true)
            // Both records are in one segment, so that the server receives both before it answers.
            client.client.sendBare(
                try client.peer.seal(RecordPeer.Kind.content, Frames.hello)
                    + client.peer.seal(RecordPeer.Kind.handshake, update.prefix(4)))
            try server.checkServes(isSecured: true)
            try client.say(RecordPeer.Kind.handshake, update.dropFirst(4))
            client.peer.renew()
            #expect(try client.hear() != nil)
        }
    }

    @Test func plaintextIsNotForOthersUnlessItIsSaid() async throws {
        let everywhere = Endpoint.internet(host: "0.0.0.0", port: 0)
        await #expect(throws: ServerError.self) { try await serving(listen: [everywhere]) { _ in } }
        try await serving({ $0.security = .plaintext(beyondThisMachine: true) }, listen: [everywhere]) { _ in }
    }
}
