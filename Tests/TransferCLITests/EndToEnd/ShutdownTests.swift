import Glibc
import Testing
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct ShutdownTests {
    @Test(arguments: [SIGTERM, SIGINT]) func anIdleServerEndsAtOnce(_ signal: Int32) throws {
        let server = try RunningServer()
        #expect(try server.push([photo]).end == .exited(0))
        let idle = try PeerConnection(to: server.address)
        try idle.send(.hello(Hello(agent: "idle")))
        server.program.signal(signal)
        let farewell = try idle.next { if case .goodbye(let farewell) = $0 { farewell } else { nil } }
        #expect(farewell.code == .shuttingDown)
        idle.close()
        #expect(try server.program.wait() == .exited(0))
        #expect(server.program.errorText.hasSuffix(" info stopped\n"))
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aRunningUploadFinishes(_ signal: Int32) throws {
        let server = try RunningServer()
        let client = try startUpload(server)
        server.program.signal(signal)
        try server.program.waitForError("stopping; 1 connections are open")
        // Nobody else gets in any more.
        #expect(try server.push([photo]).end == .exited(3))
        try client.send(data: "llo")
        // As docs/PROTOCOL.md has it.
        let digest = Digest(.xxh128, Array(hex: "b5e9c1ad071b3e7fc779cfaa5e523818"))
        try client.send(.end(End(size: 5, digest: digest)))
        let result = try client.next { if case .result(let result) = $0 { result } else { nil } }
        #expect(result.code == .committed && result.digest == digest)
        client.close()
        #expect(try server.program.wait() == .exited(0))
        #expect(try server.stored("held") == Array("hello".utf8))
    }

    @Test func aSecondSignalEndsRunningUploads() throws {
        let server = try RunningServer()
        let client = try startUpload(server)
        server.program.signal(SIGTERM)
        try server.program.waitForError("stopping; ")
        server.program.signal(SIGINT)
        try expectLost(server, client)
    }

    @Test func theGracePeriodEndsRunningUploads() throws {
        let server = try RunningServer(["--drain-timeout", "1ms"])
        let client = try startUpload(server)
        server.program.signal(SIGTERM)
        try expectLost(server, client)
    }

    private func expectLost(_ server: RunningServer, _ client: PeerConnection) throws {
        #expect(try server.program.wait() == .exited(0))
        #expect(server.program.errorText.contains("connection lost inside held after "))
        client.close()
        #expect(server.visibleFiles.isEmpty && server.leftovers.isEmpty)
    }

    /// An upload whose end the test holds in its hands.
    private func startUpload(_ server: RunningServer) throws -> PeerConnection {
        let client = try PeerConnection(to: server.address)
        try client.send(.hello(Hello(agent: "held")))
        try client.send(.begin(Begin(id: .random(), path: "held", size: nil)))
        try client.send(data: "he")
        try server.program.waitForError("begun held, ")
        return client
    }
}

extension PeerConnection {
    fileprivate func send(data: String) throws {
        var frame: [UInt8] = []
        FrameHeader(.data, bodyLength: data.utf8.count).encode(into: &frame)
        try send(frame + Array(data.utf8))
    }
}

extension [UInt8] {
    fileprivate init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue).map { UInt8($0) }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
