import Testing
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferIO
@testable import TransferServer

/// Two front ends on one port.
@Suite(.timeLimit(.minutes(10)), .oneServer) struct FrontEndTests {
    /// Frames, and lines as the second front end.
    private static let both = FrontEnds(BinaryFrontEnd(), [LineFrontEnd()])

    private static let line = Array("LINE of words\n".utf8)

    private func serving(
        _ frontEnds: FrontEnds = both, change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer) throws -> Void
    ) async throws {
        try await TransferServerTests.serving(change, on: Self.foundations(frontEnds), body)
    }

    private static func foundations(_ frontEnds: FrontEnds) -> ServerFoundations {
        var foundations = ServerFoundations()
        foundations.frontEnds = frontEnds
        return foundations
    }

    private static func secured(_ configuration: inout ServerConfiguration) {
        configuration.security = .identity
        configuration.access = .everyone
    }

    private static func crowded(_ configuration: inout ServerConfiguration) {
        configuration.maximumPerNetwork = 1
        configuration.network = { $0.ipv4.map(PeerNetwork.init(ipv4:)) }
    }

    private static func expectEcho(from client: RawClient) throws {
        #expect(try client.bytes(line.count) == line)
        client.send([7])
        #expect(try client.bytes(1) == [7])
    }

    // MARK: Choice

    @Test func theFirstBytesChoose() async throws {
        try await serving { server in
            let client = try server.client()
            client.send(Self.line)
            try Self.expectEcho(from: client)
            try server.checkServes()
        }
    }

    /// The front end is chosen even if the bytes are sent one by one.
    @Test func theFirstBytesMayComeOneByOne() async throws {
        try await serving { server in
            let client = try server.client()
            for byte in Self.line { client.send([byte]) }
            try Self.expectEcho(from: client)
            let other = try server.client()
            for byte in Frames.hello { other.send([byte]) }
            #expect(try other.codes(to: Frames.upload("one-by-one", [1])) == [.committed])
        }
    }

    /// Unknown beginnings get the answers that a server with frames alone gives.
    @Test(arguments: [Array("GET / HTTP/1.1\r\n\r\n".utf8), [22, 3, 1, 2, 0, 1, 0, 1], Array("LINX of".utf8)])
    func whoeverMeansNobodyIsAnsweredInFrames(_ words: [UInt8]) async throws {
        let answer = Locked<UploadResult?>(nil)
        for frontEnds in [FrontEnds(BinaryFrontEnd()), Self.both] {
            try await serving(frontEnds) { server in
                let client = try server.client()
                client.send(words)
                let result = try client.result()
                #expect(result.code == .unsupportedVersion)
                answer.withLock { known in
                    #expect(known == nil || known == result)
                    known = result
                }
                client.endSending()
                try client.waitForClose()
            }
        }
    }

    @Test func whoeverLeavesInTheMiddleIsForgotten() async throws {
        try await serving { server in
            for words in [[], Array("LIN".utf8), [0]] as [[UInt8]] {
                let client = try server.client()
                client.send(words)
                client.endSending()
                try client.waitForClose()
            }
            try server.checkServes()
        }
    }

    /// With a single front end, the server need not wait for the client's first byte.
    @Test func theOnlyOneMaySpeakFirst() async throws {
        try await serving(FrontEnds(LineFrontEnd(greeting: "ready\n"))) { server in
            let client = try server.client()
            #expect(try client.bytes(6) == Array("ready\n".utf8))
        }
    }

    @Test func theLogSaysWhoSpeaks() async throws {
        for (frontEnds, count) in [(Self.both, 1), (FrontEnds(LineFrontEnd()), 0)] {
            let lines = try await logged(
                .text, .debug, in: TemporaryDirectory(), on: Self.foundations(frontEnds)
            ) { server in
                let client = try server.client()
                client.send(Self.line)
                try Self.expectEcho(from: client)
            }
            #expect(lines.count { $0.contains(" speaks lines") } == count)
        }
    }

    // MARK: With TLS

    @Test func whatWasAgreedOnInTLSChooses() async throws {
        try await serving(change: Self.secured) { server in
            let client = try server.client()
            try client.secure(protocols: ["lines/1"])
            // These bytes alone would not choose a front end.
            client.send([7])
            #expect(try client.bytes(1) == [7])
            try server.checkServes(isSecured: true)
            let either = try server.client()
            try either.secure(protocols: ["lines/1", FrameHeader.protocolName])
            #expect(try either.codes(to: Frames.hello + Frames.upload("either", [1])) == [.committed])
            let none = try server.client()
            #expect(throws: (any Error).self) { try none.secure(protocols: ["other/1"]) }
        }
    }

    /// Each byte is sent in a separate TLS record.
    @Test func whereNothingWasAgreedOnTheFirstBytesChoose() async throws {
        try await serving(change: Self.secured) { server in
            let client = try server.client()
            try client.secure(protocols: [])
            for byte in Self.line { client.send([byte]) }
            try Self.expectEcho(from: client)
            let other = try server.client()
            try other.secure(protocols: [])
            for byte in Frames.hello { other.send([byte]) }
            #expect(try other.codes(to: Frames.upload("one-by-one", [1])) == [.committed])
        }
    }

    /// A client without TLS gets a refusal of the front end that it has chosen.
    @Test func whoeverComesWithoutTLSIsToldSo() async throws {
        try await serving(change: Self.secured) { server in
            let client = try server.client()
            client.send(Self.line)
            let words = Array("no: This server accepts encrypted".utf8)
            #expect(try client.bytes(words.count) == words)
            let other = try server.client()
            #expect(try other.codes(to: Frames.hello) == [.encryptionRequired])
        }
    }

    // MARK: Refusals

    @Test func whoeverSaysNothingIsGivenUp() async throws {
        try await serving(change: { $0.timeouts.handshake = .milliseconds(50) }) { server in
            for words in [[], Array("LIN".utf8)] as [[UInt8]] {
                let client = try server.client()
                client.send(words)
                #expect(try client.result().code == .timedOut)
            }
        }
    }

    /// A full server refuses a connection at once, in the words of the first front end.
    @Test func theFullServerSpeaksAsItsFirstFrontEndDoes() async throws {
        let frontEnds = FrontEnds(LineFrontEnd(), [BinaryFrontEnd()])
        try await serving(frontEnds, change: Self.crowded) { server in
            let first = try server.client()
            first.send(Self.line)
            try Self.expectEcho(from: first)
            let words = Array("no: There are too many connections".utf8)
            let second = try server.client()
            #expect(try second.bytes(words.count) == words)
        }
    }

    /// A silent connection makes room for a new one.
    @Test func newcomersTakeThePlaceOfWhoeverSaysNothing() async throws {
        try await serving(change: { $0.maximumPending = 1 }) { server in
            let silent = try server.client()
            silent.send(Array("LIN".utf8))
            try server.checkServes()
            try silent.waitForClose()
        }
    }

    @Test func aStoppingServerSaysGoodbyeToWhoeverHasSaidNothing() async throws {
        try await serving { server in
            let silent = try server.client()
            silent.send(Array("LIN".utf8))
            // The silent connection was accepted before the connection of this check.
            try server.checkServes()
            server.beginShutDown()
            #expect(try silent.goodbye().code == .shuttingDown)
        }
    }
}
