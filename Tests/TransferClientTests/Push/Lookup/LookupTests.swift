import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferClient

/// Pushes of files that the server already has.
@Suite struct LookupTests {
    private static let count = 700
    private static let size = 4096

    /// Bytes of content that the client sends before the first answer.
    private static let flight = Int(LookupGovernor.firstFlight)

    /// A tree that was pushed through a proxy.
    private struct PushedTree {
        let sources: TemporaryDirectory
        var server: RunningServer
        var proxy: CountingProxy

        func push(_ adjust: (inout ClientConfiguration) -> Void = { _ in }) async throws -> Outcome {
            try await proxy.address.outcome([.path(sources.path("tree"))], adjust)
        }

        func source(_ number: Int) -> String { sources.path("tree/d\(number % 7)/f\(number)") }

        func stored(_ number: Int) -> String { server.directory.path("store/tree/d\(number % 7)/f\(number)") }

        /// Gives a file other content of the same length, and another time.
        func change(_ number: Int) throws {
            try Files.write(source(number), [UInt8](repeating: UInt8(number % 251), count: size))
        }

        mutating func restartServer() async throws {
            proxy.stop()
            await server.stop()
            server = try await RunningServer(in: server.directory)
            proxy = CountingProxy(to: server.port)
        }
    }

    private static func withTree(_ body: (inout PushedTree) async throws -> Void) async throws {
        let server = try await RunningServer(in: TemporaryDirectory())
        var tree = PushedTree(
            sources: try TemporaryDirectory(), server: server, proxy: CountingProxy(to: server.port))
        do {
            for number in 0..<count {
                try Files.write(tree.source(number), SplitMix64.bytes(seed: UInt64(number), size))
                try Files.setTime(tree.source(number), 1_000_000)
            }
            let outcome = try await tree.push()
            #expect(outcome.codes == Array(repeating: .committed, count: count))
            try await body(&tree)
        } catch {
            await tree.server.stop()
            throw error
        }
        tree.proxy.stop()
        await tree.server.stop()
    }

    @Test func anUnchangedTreeSendsNothing() async throws {
        try await Self.withTree { tree in
            #expect(tree.proxy.take().content == Self.count * Self.size)
            for hasRestarted in [false, true] {
                if hasRestarted { try await tree.restartServer() }
                let outcome = try await tree.push()
                #expect(outcome.codes == Array(repeating: .alreadyStored, count: Self.count))
                #expect(Set(outcome.sources).count == Self.count)
                #expect(outcome.reports.allSatisfy { $0.isDurable && $0.size == UInt64(Self.size) })
                let sent = tree.proxy.take()
                #expect(sent.content <= Self.flight && sent.begun + sent.lookedUp == Self.count)
            }
            #expect(tree.server.tree.count == Self.count)
        }
    }

    /// Lookups cost time, so a push of new files should make few of them.
    @Test func aFirstPushAsksLittle() async throws {
        try await Self.withTree { tree in
            let sent = tree.proxy.take()
            #expect(sent.begun == Self.count)
            #expect((1...3 * LookupGovernor.sample).contains(sent.lookedUp))
        }
    }

    @Test(arguments: [[5, 77, 300, 301, 699], Array(0..<40)])
    func onlyWhatChangedIsSent(_ changed: [Int]) async throws {
        try await Self.withTree { tree in
            _ = tree.proxy.take()
            for number in changed { try tree.change(number) }
            let outcome = try await tree.push { $0.conflict = .keepBoth }
            #expect(outcome.codes.count { $0 == .committed } == changed.count)
            #expect(outcome.codes.count { $0 == .alreadyStored } == Self.count - changed.count)
            let sent = tree.proxy.take()
            #expect(sent.content <= Self.flight + changed.count * Self.size)
            for number in changed { #expect(Files.read(tree.stored(number) + "-1") == Files.read(tree.source(number))) }
        }
    }

    /// An earlier acknowledgement counts only as long as the stored file is unchanged.
    @Test func whatIsGoneOrDiffersIsStoredAgain() async throws {
        try await Self.withTree { tree in
            _ = tree.proxy.take()
            let (gone, cut, other, touched) = (100, 200, 300, 400)
            #expect(unlink(tree.stored(gone)) == 0)
            #expect(truncate(tree.stored(cut), 10) == 0)
            try Files.write(tree.stored(other), [UInt8](repeating: 1, count: Self.size))
            try Files.setTime(tree.stored(touched), 7)
            let outcome = try await tree.push()
            let codes = [gone, cut, other, touched].map { outcome[tree.source($0)]?.result }
            #expect(codes == [.committed, .committed, .committed, .alreadyStored])
            #expect(outcome.codes.count { $0 == .alreadyStored } == Self.count - 3)
            #expect(Files.read(tree.stored(gone)) == Files.read(tree.source(gone)))
            for number in [cut, other] {
                #expect(outcome[tree.source(number)]?.storedPath == "tree/d\(number % 7)/f\(number)-1")
                #expect(Files.read(tree.stored(number) + "-1") == Files.read(tree.source(number)))
            }
            #expect(tree.proxy.take().content <= Self.flight + 4 * Self.size)
        }
    }

    @Test(arguments: [true, false]) func everyKnownUploadHasAReceipt(hasRestarted: Bool) async throws {
        try await Self.withTree { tree in
            if hasRestarted { try await tree.restartServer() }
            _ = tree.proxy.take()
            let outcome = try await tree.push { $0.wantsReceipts = true }
            let verifier = ReceiptVerifier()
            #expect(outcome.codes == Array(repeating: .alreadyStored, count: Self.count))
            for report in outcome.reports {
                let signed = try #require(report.receipt)
                try verifier.verify(signed)
                #expect(signed.receipt.path.string == report.storedPath && signed.receipt.kind == report.kind)
                #expect(signed.receipt.uploadID == report.uploadID && signed.receipt.result == .alreadyStored)
            }
            #expect(Set(outcome.reports.compactMap { $0.receipt?.receipt.number }).count == Self.count)
            #expect(tree.proxy.take().content <= Self.flight)
        }
    }

    @Test(arguments: [20_000, 100_000, 7 << 20]) func aFileByItself(_ size: Int) async throws {
        try await withServer { server in
            let proxy = CountingProxy(to: server.port)
            let sources = try TemporaryDirectory()
            let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            try Files.write(sources.path("file"), png + SplitMix64.bytes(seed: 1, size))
            for expected in [ResultCode.committed, .alreadyStored] {
                let outcome = try await proxy.address.outcome([.path(sources.path("file"))])
                #expect(outcome.codes == [expected] && outcome.reports[0].kind == .picture)
                #expect(outcome.reports[0].storedPath == "file")
                let sent = proxy.take()
                #expect(sent.content == (expected == .committed ? size + png.count : 0))
                #expect(sent.lookedUp == 1)
            }
            proxy.stop()
        }
    }
}

/// Fake servers with chosen answers.
extension LookupTests {
    private static func file(in sources: TemporaryDirectory, size: Int = 50_000) throws -> Upload {
        try Files.write(sources.path("file"), [UInt8](repeating: 7, count: size))
        return .path(sources.path("file"))
    }

    /// A short file does not wait for any answer, not even for `welcome`.
    @Test func aShortFileWaitsForNothing() async throws {
        let sources = try TemporaryDirectory()
        let fake = FakeServer { peer in
            guard case .message(.hello)? = peer.next(), let begin = peer.nextBegin(), let end = peer.nextEnd() else {
                return
            }
            peer.send(.welcome(Welcome()))
            peer.send(.result(UploadResult(id: begin.id, code: .committed, size: end.size, digest: end.digest)))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([Self.file(in: sources, size: 14_000)])
        #expect(outcome.codes == [.committed])
    }

    @Test func whatIsKnownIsNotBegun() async throws {
        let sources = try TemporaryDirectory()
        let fake = FakeServer { peer in
            peer.welcome()
            guard case .message(.lookup(let lookup))? = peer.next() else { return }
            peer.send(.result(Self.known(lookup.ids[0])))
            #expect(peer.next() == .message(.goodbye(Goodbye(.committed))))
        }
        let outcome = try await fake.address.outcome([Self.file(in: sources)])
        #expect(outcome.codes == [.alreadyStored] && outcome.reports[0].storedPath == "elsewhere")
        #expect(outcome.failure == nil)
    }

    /// An answer with another size or digest does not prove that this file is stored.
    @Test(arguments: [known(.none, size: 49_999), known(.none, .sha256), known(.none, nil)])
    func whatIsNotTheSameIsSent(_ answer: UploadResult) async throws {
        let sources = try TemporaryDirectory()
        let fake = FakeServer { peer in
            peer.welcome()
            guard case .message(.lookup(let lookup))? = peer.next() else { return }
            var answer = answer
            answer.id = lookup.ids[0]
            peer.send(.result(answer))
            peer.commitNext()
            peer.drain()
        }
        let outcome = try await fake.address.outcome([Self.file(in: sources)])
        #expect(outcome.codes == [.committed])
    }

    @Test func aLookupThatWasLostIsAskedAgain() async throws {
        let sources = try TemporaryDirectory()
        let fake = FakeServer(
            { peer in
                peer.welcome()
                _ = peer.next()
            },
            { peer in
                peer.welcome()
                guard case .message(.lookup(let lookup))? = peer.next() else { return }
                peer.send(.unknown(lookup.ids))
                peer.commitNext()
                peer.drain()
            })
        let outcome = try await fake.address.outcome([Self.file(in: sources)])
        #expect(outcome.codes == [.committed] && fake.connections == 2)
    }

    @Test(
        arguments: [.unknown([UploadID(high: 1, low: 1)]), .result(UploadResult(id: .none, code: .skipped))]
            as [Message])
    func anAnswerThatIsNoneEndsThePush(_ answer: Message) async throws {
        let sources = try TemporaryDirectory()
        let fake = FakeServer { peer in
            peer.welcome()
            guard case .message(.lookup(let lookup))? = peer.next() else { return }
            if case .result(var result) = answer {
                result.id = lookup.ids[0]
                peer.send(.result(result))
            } else {
                peer.send(answer)
            }
            peer.drain()
        }
        let outcome = try await fake.address.outcome([Self.file(in: sources)])
        #expect(outcome.failure?.reason == .protocolFault)
    }

    private static func known(
        _ id: UploadID, _ algorithm: DigestAlgorithm? = .xxh128, size: UInt64 = 50_000
    ) -> UploadResult {
        let digest = algorithm.map { Digest($0, [UInt8](repeating: 3, count: $0.function.size)) }
        return UploadResult(
            id: id, code: .alreadyStored, isDurable: true, size: size, digest: digest, storedPath: "elsewhere")
    }
}
