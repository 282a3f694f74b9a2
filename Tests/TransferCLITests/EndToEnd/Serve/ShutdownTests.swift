import Glibc
import Testing
import TransferModel
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
        // The server accepts no more clients.
        #expect(try server.push([photo]).end == .exited(3))
        try client.send(data: "llo")
        // The example in docs/reference/protocol.md.
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

    /// A limited rate makes the push slow enough to be interrupted.
    private static let slowly = ["--bandwidth", "12M"]

    @Test(arguments: [1, 4]) func aPushInPartsIsAcknowledgedFirst(lanes: Int) throws {
        let (source, content) = try longFile()
        let server = try RunningServer()
        let push = try server.startPush([source.path("big"), "--lanes", "\(lanes)", "--json"] + Self.slowly)
        try server.program.waitForError("started big, ")
        server.program.signal(SIGTERM)
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(!finished.errors.contains("again"), "\(finished.errors)")
        #expect(try server.program.wait() == .exited(0))
        #expect(try server.stored("big") == content)
    }

    @Test func aPushFromStandardInputIsAcknowledgedFirst() throws {
        let content = randomBytes(11 << 20, seed: 11)
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(content[..<(6 << 20)])
        try server.program.waitForError("started in.bin, ")
        server.program.signal(SIGTERM)
        try server.program.waitForError("stopping; ")
        try push.write(content[(6 << 20)...])
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(try server.program.wait() == .exited(0))
        #expect(try server.stored("in.bin") == content)
    }

    /// A server that is started again in time is all that an interrupted push needs.
    @Test(arguments: [true, false]) func aPushThatTakesTooLongGoesOnWithTheNextServer(hasSecondSignal: Bool) throws {
        let (source, content) = try longFile()
        let first = try RunningServer(hasSecondSignal ? [] : ["--drain-timeout", "1ms"])
        let push = try first.startPush([source.path("big")] + Self.slowly)
        try first.program.waitForError("started big, ")
        try first.waitForPart()
        first.program.signal(SIGTERM)
        try first.program.waitForError("stopping; ")
        if hasSecondSignal { first.program.signal(SIGTERM) }
        #expect(try first.program.wait() == .exited(0))
        #expect(first.visibleFiles.isEmpty && !first.leftovers.isEmpty)
        let second = try RunningServer(in: first.home, at: first.address)
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(try second.stored("big") == content)
        #expect(second.program.errorText.contains("resumed big, "))
    }

    @Test func aPullGoesOnWithTheNextServer() throws {
        let first = try RunningServer()
        let files = 3_000
        try makeDirectory(first.directory + "/many")
        for number in 0..<files { try writeFile("\(first.directory)/many/\(number)", Array("\(number)".utf8)) }
        let target = try TemporaryDirectory()
        let pull = try Program(["pull", "many", "--from", first.address, "--plaintext", "-o", target.path])
        try pull.waitForOutput("committed")
        first.program.signal(SIGTERM)
        #expect(try first.program.wait() == .exited(0))
        let second = try RunningServer(in: first.home, at: first.address)
        let finished = try Finished(pull)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(TransferCLITests.files(below: target.path).count == files)
        #expect(second.visibleFiles.count == files)
    }

    private func longFile() throws -> (TemporaryDirectory, [UInt8]) {
        let source = try TemporaryDirectory()
        let content = randomBytes(36 << 20, seed: 7)
        try writeFile(source.path("big"), content)
        return (source, content)
    }

    private func expectLost(_ server: RunningServer, _ client: PeerConnection) throws {
        #expect(try server.program.wait() == .exited(0))
        #expect(server.program.errorText.contains("connection lost during the upload of held after "))
        client.close()
        #expect(server.visibleFiles.isEmpty && server.leftovers.isEmpty)
    }

    /// Starts an upload that the test can finish later.
    private func startUpload(_ server: RunningServer) throws -> PeerConnection {
        let client = try PeerConnection(to: server.address)
        try client.send(.hello(Hello(agent: "held")))
        try client.send(.begin(Begin(id: .random(), path: "held", size: nil)))
        try client.send(data: "he")
        try server.program.waitForError("started held, ")
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
