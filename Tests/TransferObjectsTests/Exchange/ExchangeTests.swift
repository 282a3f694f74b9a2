import Testing
import TransferHTTP
import TransferIO
import TransferSystem
import TransferTestSupport

@testable import TransferObjects

@Suite(.timeLimit(.minutes(10))) struct ExchangeTests {
    /// Time for an exchange that is expected to end by itself.
    private static let patience: Int64 = 300_000_000_000

    private static func origin(_ server: ScriptedServer, host: String = "127.0.0.1") throws -> Origin {
        try Origin(#require(WebAddress("http://\(host):\(server.port)")))
    }

    private static func request(_ method: HTTPMethod, _ content: ObjectContent? = nil) throws -> OutgoingRequest {
        try #require(OutgoingRequest(method, "/x", [("host", "h")], content: content))
    }

    /// Sends one request over a new connection.
    private static func run(
        _ server: ScriptedServer, _ method: HTTPMethod = .get, _ content: ObjectContent? = nil,
        into place: AnswerPlace = .array(atMost: 1000), times: ExchangeTimes = ExchangeTimes()
    ) throws -> HTTPAnswer {
        let deadline = monotonicDeadline(after: patience)
        let socket = try origin(server).connect(attempt: patience, until: deadline)
        return try Exchange.run(try request(method, content), on: socket, into: place, times: times, until: deadline)
    }

    private static func cause(_ body: () throws -> Void) -> ExchangeFault? {
        do {
            try body()
            return nil
        } catch {
            return error as? ExchangeFault
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func readsAnswers(text: String) async throws {
        for isSplit in [false, true] {
            try await withServer { connection in
                _ = connection.read()
                if isSplit {
                    for byte in text.utf8 { connection.send([byte]) }
                } else {
                    connection.send(text)
                }
            } _: { server in
                let answer = try Self.run(server)
                #expect(answer.head.status == 200)
                #expect(answer.content == Array("hello".utf8))
                #expect(answer.size == 5)
                #expect(answer.isReusable == !text.contains("close"))
                #expect(!answer.isEarly)
            }
        }
    }

    @Test(arguments: [true, false]) func receivesIntoMemory(isChunked: Bool) async throws {
        let content = SplitMix64.bytes(seed: 3, 1_500_000)
        try await withServer { connection in
            _ = connection.read()
            guard isChunked else { return connection.answer(200, [], content) }
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: content.count, by: 100_000) {
                connection.send("\(String(100_000, radix: 16))\r\n")
                connection.send(Array(content[start..<start + 100_000]))
                connection.send("\r\n")
            }
            connection.send("0\r\n\r\n")
        } _: { server in
            let target = UnsafeMutableRawBufferPointer.allocate(byteCount: content.count, alignment: 1)
            defer { target.deallocate() }
            let answer = try Self.run(server, into: .memory(target))
            #expect(answer.size == content.count)
            #expect(answer.isReusable)
            #expect(target.elementsEqual(content))
        }
    }

    @Test func givesContentToAFunction() async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200, "abc")
        } _: { server in
            var found: [UInt8] = []
            _ = try Self.run(server, into: .function { found += $0 })
            #expect(found == Array("abc".utf8))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 404 X\r\nContent-Length: 99999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n\(String(repeating: "x", count: 1001))\r\n0\r\n\r\n",
        "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 40_000))",
    ])
    func refusesAnswers(text: String) async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.send(text)
            _ = connection.receive()
        } _: { server in
            let fault = Self.cause { _ = try Self.run(server) }
            guard case .malformed? = fault?.cause else {
                Issue.record("\(String(describing: fault))")
                return
            }
            #expect(fault?.hasAnswerBegun == true)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "HTTP/1.1 2"])
    func noticesCutAnswers(text: String) async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.send(text)
        } _: { server in
            let fault = Self.cause { _ = try Self.run(server) }
            #expect(fault == ExchangeFault(.stream(.truncated), hasAnswerBegun: !text.isEmpty))
        }
    }

    /// The server reads the head only, answers, and leaves the content in the connection.
    @Test(arguments: [true, false]) func seesAnAnswerBeforeAllContentIsSent(closes: Bool) async throws {
        let seen = Event()
        try await withServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy")
            if closes { connection.reset() } else { seen.wait() }
        } _: { server in
            // More than the kernel's buffers hold.
            let content = try ObjectContent([[UInt8](repeating: 1, count: 64 << 20)], sha256: SHA256Digest(of: []))
            defer { seen.fire() }
            guard !closes else {
                // After a reset, the answer may be lost. The exchange ends in any case.
                let fault = Self.cause {
                    let answer = try Self.run(server, .put, content)
                    #expect(answer.head.status == 503)
                }
                #expect(fault == nil || fault?.isCutBeforeAnswer == true)
                return
            }
            let answer = try Self.run(server, .put, content)
            #expect(answer.head.status == 503)
            #expect(answer.content == Array("busy".utf8))
            #expect(answer.isEarly)
            #expect(!answer.isReusable)
        }
    }

    @Test func sendsContentWhole() async throws {
        let content = SplitMix64.bytes(seed: 4, 5_000_000)
        let received = Locked<[UInt8]>([])
        try await withServer { connection in
            while let request = connection.read() {
                received.withLock { $0 = request.content }
                connection.answer(200)
            }
        } _: { server in
            let answer = try Self.run(server, .put, ObjectContent([content]))
            #expect(answer.isReusable)
            #expect(!answer.isEarly)
            #expect(received.withLock { $0 } == content)
        }
    }

    /// The server reads nothing and sends nothing: first the silence ends the exchange, then the deadline does.
    @Test(arguments: [true, false]) func givesUpOnASilentServer(byDeadline: Bool) async throws {
        let end = Event()
        let fault = try await withServer { _ in
            end.wait()
        } _: { server in
            let fault = Self.cause { try Self.meetSilence(server, byDeadline: byDeadline) }
            end.fire()
            return fault
        }
        #expect(fault == ExchangeFault(.silence))
    }

    private static func meetSilence(_ server: ScriptedServer, byDeadline: Bool) throws {
        let short: Int64 = 1_000_000
        var times = ExchangeTimes()
        if !byDeadline { times.silence = short }
        let socket = try origin(server).connect(attempt: patience, until: .max)
        let deadline = monotonicDeadline(after: byDeadline ? short : patience)
        _ = try Exchange.run(
            try request(.get), on: socket, into: .array(atMost: 0), times: times, until: deadline)
    }

    /// Bytes that come one after the other are progress, but the whole exchange has an end, too.
    @Test func givesUpOnASlowServer() async throws {
        let end = Locked(false)
        try await withServer { connection in
            _ = connection.read()
            connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while !end.withLock({ $0 }) { connection.send("x") }
        } _: { server in
            defer { end.withLock { $0 = true } }
            let socket = try Self.origin(server).connect(attempt: Self.patience, until: .max)
            let fault = Self.cause {
                _ = try Exchange.run(
                    try Self.request(.get), on: socket, into: .function { _ in }, times: ExchangeTimes(),
                    until: monotonicDeadline(after: 20_000_000))
            }
            #expect(fault?.cause == .silence)
        }
    }

    @Test func reportsContentThatCannotBeRead() async throws {
        let error = ObjectError(.full, "Words.")
        try await withServer { connection in
            while !connection.receive().isEmpty {}
        } _: { server in
            let source = ObjectContent.Source.pieces { _, _ throws(ObjectError) in throw error }
            let content = try ObjectContent(size: 10, sha256: SHA256Digest(of: []), from: source)
            #expect(Self.cause { _ = try Self.run(server, .put, content) } == ExchangeFault(.content(error)))
        }
    }

    // MARK: Connecting

    /// `localhost` has the addresses ::1 and 127.0.0.1 on most machines, and the server listens on the latter only.
    @Test func triesAllAddresses() async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200)
        } _: { server in
            let origin = try Self.origin(server, host: "localhost")
            let socket = try origin.connect(attempt: Self.patience, until: .max)
            let answer = try Exchange.run(
                try Self.request(.get), on: socket, into: .array(atMost: 0), times: ExchangeTimes(), until: .max)
            #expect(answer.isSuccess)
        }
    }

    @Test func reportsAClosedPort() async throws {
        let port = try await withServer { _ in
        } _: {
            $0.port
        }
        let origin = try Origin(#require(WebAddress("http://127.0.0.1:\(port)")))
        let fault = Self.cause { _ = try origin.connect(attempt: Self.patience, until: .max) }
        guard case .stream(.system(let error))? = fault?.cause else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(error.call == "connect")
    }

    /// Names below `invalid` never exist (RFC 6761).
    @Test func reportsAnUnknownName() async throws {
        let origin = try Origin(#require(WebAddress("http://no.such.name.invalid")))
        let fault = try await TestThread.run {
            Self.cause { _ = try origin.connect(attempt: Self.patience, until: .max) }
        }
        guard case .resolution(let host, _)? = fault?.cause else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(host == "no.such.name.invalid")
    }

    // MARK: TLS

    /// Serves one request over TLS.
    private static func serve(_ connection: ScriptedServer.Connection, _ context: TLSContext) {
        guard let side = try? TLSSide(context) else { return }
        var (text, unread): ([UInt8], [UInt8]) = ([], [])
        while !text.reversed().starts(with: "\n\r\n\r".utf8) {
            // A record has a header of five bytes, whose last two have its length (RFC 8446, section 5.1). The first
            // request may arrive together with the end of the handshake.
            guard unread.count >= 5, unread.count >= 5 + (Int(unread[3]) << 8) + Int(unread[4]) else {
                let bytes = connection.receive()
                guard !bytes.isEmpty else { return }
                unread += bytes
                continue
            }
            let record = unread.prefix(5 + (Int(unread[3]) << 8) + Int(unread[4]))
            unread.removeFirst(record.count)
            if side.isEstablished {
                guard let found = try? side.decrypt(record) else { return }
                text += found.bytes
            } else {
                let answer = try? side.shake(record)
                connection.send(answer ?? side.written)
            }
        }
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecure".utf8)
        if let bytes = try? side.encrypt(answer) { connection.send(bytes) }
        _ = connection.receive()
    }

    @Test(
        arguments: [
            ("IP:127.0.0.1", nil), ("DNS:other.example", "the certificate is for another name"),
        ] as [(String, String?)])
    func verifiesTheServer(names: String, problem: String?) async throws {
        let directory = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: directory.path("ca.pem"))
        let (certificate, key) = (directory.path("leaf.pem"), directory.path("leaf.key"))
        try authority.issue(names, to: certificate, key: key)
        let context = try TLSContext.server(.files(certificate: certificate, key: key), protocols: ["http/1.1"])
        let file = authority.path
        try await withServer {
            Self.serve($0, context)
        } _: { server in
            let address = try #require(WebAddress("https://127.0.0.1:\(server.port)"))
            let fault = Self.cause {
                let socket = try Origin(address, authorities: file).connect(attempt: Self.patience, until: .max)
                let answer = try Exchange.run(
                    try Self.request(.get), on: socket, into: .array(atMost: 10), times: ExchangeTimes(), until: .max)
                #expect(answer.content == Array("secure".utf8))
                #expect(socket.isQuiet)
                socket.sayGoodbye()
            }
            #expect(fault?.cause == problem.map { .stream(.tls(.broken($0))) })

            // The system does not trust the authority.
            let distrust = Self.cause { _ = try Origin(address).connect(attempt: Self.patience, until: .max) }
            #expect(distrust?.words == "TLS failed: the issuer of the certificate is unknown")
        }
    }

    @Test func refusesAFileWithoutCertificates() throws {
        let directory = try TemporaryDirectory()
        try writeText("words", to: directory.path("ca.pem"))
        let address = try #require(WebAddress("https://127.0.0.1"))
        for name in ["ca.pem", "none.pem"] {
            let error = failure { () throws(ObjectError) in
                _ = try Origin(address, authorities: directory.path(name))
            }
            #expect(error?.reason == .misconfigured)
        }
    }
}
