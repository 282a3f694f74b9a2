import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferClient

/// Connections are cut at seeded offsets in both directions, and servers stop and return.
@Suite struct LostConnectionTests {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func everythingArrivesExactlyOnce(_ seed: UInt64) async throws {
        try await withServer { server in
            var generator = SplitMix64(seed: seed)
            var contents: [String: [UInt8]] = [:]
            for number in 0..<60 {
                let size = number % 10 == 9 ? 400_000 : Int.random(in: 0...5000, using: &generator)
                contents["photo\(number).png"] = generator.bytes(size)
            }
            contents["long.bin"] = generator.bytes(5 << 20)
            // Cuts towards the server are also inside the content, cuts towards the client inside and between the
            // results.
            let cuts = (0..<6).map { _ in
                CuttingProxy.Cut(
                    up: Bool.random(using: &generator) ? Int.random(in: 0...3_000_000, using: &generator) : nil,
                    down: Bool.random(using: &generator) ? Int.random(in: 60...1500, using: &generator) : nil)
            }
            // The first connection must succeed, so its welcome passes.
            let first = CuttingProxy.Cut(down: Int.random(in: CuttingProxy.Cut.welcome...3000, using: &generator))
            let proxy = CuttingProxy(to: server.port, cuts: [first] + cuts)
            defer { proxy.stop() }
            let uploads = contents.sorted { $0.key < $1.key }.map { Upload.bytes($0.value, name: $0.key) }
            let outcome = try await proxy.address.outcome(uploads)
            #expect(outcome.failure == nil, "seed \(seed)")
            #expect(outcome.sources == contents.keys.sorted(), "seed \(seed)")
            #expect(outcome.reports.allSatisfy { $0.result.class == .success }, "seed \(seed)")
            #expect(server.tree == contents.keys.sorted(), "seed \(seed)")
            for (name, content) in contents {
                let isStored = server.stored(name) == content
                #expect(isStored, "seed \(seed): \(name)")
                #expect(outcome[name]?.digest == ContentDigester.digest(.xxh128, content), "seed \(seed): \(name)")
            }
        }
    }

    /// Only the acknowledgement is lost: the server does not store the file again, although other content has its name.
    @Test(arguments: [false, true]) func aLostAcknowledgementIsGivenAgain(withReceipt: Bool) async throws {
        try await withServer { server in
            let address = try server.address
            _ = try await address.outcome([.text("other", name: "photo.png")])
            // The welcome passes, and the results do not.
            let proxy = CuttingProxy(
                to: server.port, cuts: [.init(down: CuttingProxy.Cut.welcome), .init(down: CuttingProxy.Cut.welcome)])
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([.text("mine", name: "photo.png")]) {
                $0.wantsReceipts = withReceipt
            }
            #expect(outcome.failure == nil)
            let receipt = outcome.reports.first?.receipt?.receipt
            #expect(receipt?.path.string == (withReceipt ? "photo-1.png" : nil))
            #expect(outcome.codes.count == 1)
            #expect(outcome.reports.first?.storedPath == "photo-1.png")
            #expect(server.tree == ["photo-1.png", "photo.png"])
        }
    }

    @Test func aServerThatComesBackGetsTheRest() async throws {
        let directory = try TemporaryDirectory()
        var server: RunningServer? = try await RunningServer(in: directory)
        let port = try #require(server?.port)
        let gate = Gate()
        let client = try TransferClient(server: #require(server).address, configuration: .patient)
        var reports: [UploadReport] = []
        var isBack = false
        for try await event in client.push([
            .text("1", name: "1"), .stream(GatedSource(gate), name: "2"), .text("3", name: "3"),
        ]) {
            switch event {
            case .finished(let report):
                reports.append(report)
                guard reports.count == 1 else { continue }
                // The server stops in the middle of the second upload.
                await server?.stop()
                server = nil
                gate.put(Array("two".utf8))
                gate.put(nil)
            case .reconnecting where !isBack:
                isBack = true
                server = try await RunningServer(in: directory, port: port)
            default: break
            }
        }
        #expect(reports.map(\.source) == ["1", "2", "3"])
        #expect(reports.allSatisfy { $0.result == .committed })
        #expect(server?.tree == ["1", "2", "3"])
        #expect(server?.stored("2") == Array("two".utf8))
        await server?.stop()
    }

    @Test func aServerThatStaysAwayCostsEveryUploadOnce() async throws {
        let server = try await RunningServer(in: TemporaryDirectory())
        let gate = Gate()
        var configuration = ClientConfiguration.plaintext
        configuration.retryFor = 0.3
        let client = try TransferClient(server: server.address, configuration: configuration)
        var reports: [UploadReport] = []
        let later = (0..<300).map { Upload.text("\($0)", name: "later/\($0)") }
        let failure = await #expect(throws: TransferFailure.self) {
            for try await event in client.push(
                [.text("1", name: "1"), .stream(GatedSource(gate), name: "2")] + later + [.path("/missing")])
            {
                guard case .finished(let report) = event else { continue }
                reports.append(report)
                guard reports.count == 1 else { continue }
                await server.stop()
                gate.put(nil)
            }
        }
        #expect(failure?.reason == .unreachable)
        #expect(reports.count == 303)
        #expect(Set(reports.map(\.source)).count == 303)
        #expect(reports[0].result == .committed)
        #expect(reports[1...].filter { $0.result == .connectionLost }.count == 301)
        #expect(reports.first { $0.source == "/missing" }?.result == .sourceUnreadable)
    }

    /// Wherever the connections are cut, a stream that cannot be read again is resumed.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func aLongStreamSurvivesItsConnections(_ seed: UInt64) async throws {
        try await withServer { server in
            var generator = SplitMix64(seed: seed)
            let blocks = Int.random(in: 1...9, using: &generator)
            let size = blocks * Limits.blockSize + [0, 1, 70_000, 3_000_000][Int(seed % 4)]
            let content = generator.bytes(size)
            let cuts = (0..<6).map { _ in
                CuttingProxy.Cut(
                    up: Bool.random(using: &generator) ? Int.random(in: 0...20_000_000, using: &generator) : nil,
                    down: Bool.random(using: &generator) ? Int.random(in: 60...1500, using: &generator) : nil)
            }
            // The first connection must succeed, so its welcome passes.
            let first = CuttingProxy.Cut(down: Int.random(in: CuttingProxy.Cut.welcome...1000, using: &generator))
            let proxy = CuttingProxy(to: server.port, cuts: [first] + cuts)
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([
                .text("before", name: "before"), .stream(PieceSource([content]), name: "long"),
                .text("after", name: "after"), .stream(PieceSource([Array("short".utf8)]), name: "short"),
            ]) {
                if seed.isMultiple(of: 3) { $0.lanes = .fixed(1) }
                if seed.isMultiple(of: 2) { $0.digest = .sha256 }
            }
            #expect(outcome.failure == nil, "seed \(seed)")
            #expect(outcome.sources == ["after", "before", "long", "short"], "seed \(seed)")
            #expect(outcome.reports.allSatisfy { $0.result.class == .success }, "seed \(seed): \(outcome.reports)")
            #expect(server.tree == ["after", "before", "long", "short"], "seed \(seed)")
            let isStored = server.stored("long") == content
            #expect(isStored, "seed \(seed)")
            #expect(outcome["long"]?.size == UInt64(size), "seed \(seed)")
            let function: DigestFunction = seed.isMultiple(of: 2) ? .sha256 : .xxh128
            #expect(outcome["long"]?.digest == ContentDigester.digest(function, content), "seed \(seed)")
        }
    }

    /// Blocks that the server verified and then lost cannot be sent again, so the stream fails. The next upload
    /// succeeds.
    @Test func aLongStreamIsLostWithItsServersMemory() async throws {
        let fake = FakeServer(
            { peer in
                peer.welcome()
                guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
                peer.send(.result(UploadResult(id: begin.id, code: .staged, size: end.size, digest: end.digest)))
                // The client can only send this many more blocks after it has read the result of the first.
                for _ in 0..<BlockStream.mostBlocks { _ = peer.nextEnd() }
            },
            { peer in
                peer.welcome()
                while case .message(let message)? = peer.next() {
                    guard case .resume(let begin) = message else { continue }
                    #expect(begin.size == nil && begin.scope == .multipart)
                    peer.send(.accept(begin.id))
                    // The client aborts the useless upload, either before the next upload or after it.
                    for _ in 0..<2 {
                        guard let next = peer.nextBegin() else { return }
                        guard next.id == begin.id else {
                            peer.commit(next)
                            continue
                        }
                        #expect(next.scope == .multipart)
                        peer.send(.result(UploadResult(id: next.id, code: .aborted)))
                    }
                }
            })
        let content = [UInt8](repeating: 7, count: 9 * Limits.blockSize)
        let outcome = try await fake.address.outcome([
            .stream(PieceSource([content]), name: "long"), .text("after", name: "after"),
        ]) { $0.lanes = .fixed(1) }
        #expect(outcome.failure == nil)
        #expect(outcome["long"]?.result == .connectionLost)
        #expect(outcome["long"]?.message.contains("save it to a file") == true)
        #expect(outcome["after"]?.result == .committed)
    }

    /// A stream that waits for its writer is also resumed.
    @Test func aStreamThatComesSlowlySurvives() async throws {
        let directory = try TemporaryDirectory()
        var server: RunningServer? = try await RunningServer(in: directory)
        let port = try #require(server?.port)
        let gate = Gate()
        let pieces = (0..<9).map { [UInt8](repeating: UInt8($0), count: 1 << 20) }
        let client = try TransferClient(server: #require(server).address, configuration: .patient)
        var codes: [ResultCode] = []
        for piece in pieces.prefix(5) { gate.put(piece) }
        for try await event in client.push([.text("x", name: "x"), .stream(GatedSource(gate), name: "slow")]) {
            switch event {
            case .finished(let report):
                codes.append(report.result)
                guard codes.count == 1 else { continue }
                await server?.stop()
                server = nil
                for piece in pieces[5...] { gate.put(piece) }
                gate.put(nil)
            case .reconnecting: if server == nil { server = try await RunningServer(in: directory, port: port) }
            default: break
            }
        }
        #expect(codes == [.committed, .committed])
        let isStored = server?.stored("slow") == pieces.flatMap { $0 }
        #expect(isStored)
        await server?.stop()
    }

    /// A stream of at most one block is sent again from its start, like the uploads around it.
    @Test func aShortStreamSurvivesItsConnection() async throws {
        try await withServer { server in
            let content = SplitMix64(seed: 2).with { $0.bytes(3 << 20) }
            // Cuts after the welcome, so that the connection succeeds, and within the first result.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 154), .init(down: 154)])
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([
                .text("before", name: "before"), .stream(PieceSource([content]), name: "stream"),
            ])
            // If the client sends the stream again while the first attempt is still being stored, the server finds it
            // at its path.
            #expect(outcome.codes.allSatisfy { [.committed, .alreadyStored].contains($0) } && outcome.codes.count == 2)
            #expect(server.tree == ["before", "stream"])
            let isStored = server.stored("stream") == content
            #expect(isStored)
        }
    }
}

extension SplitMix64 {
    fileprivate func with<T>(_ body: (inout SplitMix64) -> T) -> T {
        var generator = self
        return body(&generator)
    }
}
