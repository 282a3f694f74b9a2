import Testing
import TransferClient
import TransferCodec
import TransferProtocol
import TransferReceipts
import TransferTestSupport

/// Connections that are cut at seeded places in both directions, and servers that go and come back.
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
            // Upward also inside the content, downward inside and between the results.
            let cuts = (0..<6).map { _ in
                CuttingProxy.Cut(
                    up: Bool.random(using: &generator) ? Int.random(in: 0...3_000_000, using: &generator) : nil,
                    down: Bool.random(using: &generator) ? Int.random(in: 60...1500, using: &generator) : nil)
            }
            // The first connection must come about: the welcome passes.
            let first = CuttingProxy.Cut(down: Int.random(in: 95...3000, using: &generator))
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

    /// Only the acknowledgement is lost: the server stores nothing a second time, whatever stands under the name.
    @Test(arguments: [false, true]) func aLostAcknowledgementIsGivenAgain(withReceipt: Bool) async throws {
        try await withServer { server in
            let address = try server.address
            _ = try await address.outcome([.text("other", name: "photo.png")])
            // The welcome passes, the results don't.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 90), .init(down: 90)])
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
        let client = try TransferClient(server: #require(server).address)
        var reports: [UploadReport] = []
        var isBack = false
        for try await event in client.push([
            .text("1", name: "1"), .stream(GatedSource(gate), name: "2"), .text("3", name: "3"),
        ]) {
            switch event {
            case .finished(let report):
                reports.append(report)
                guard reports.count == 1 else { continue }
                // In the middle of the second.
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
        var configuration = ClientConfiguration()
        configuration.retryFor = 0.3
        let client = try TransferClient(server: server.address, configuration: configuration)
        var reports: [UploadReport] = []
        let later = (0..<300).map { Upload.text("\($0)", name: "later/\($0)") }
        let failure = await #expect(throws: PushFailure.self) {
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

    /// A long stream can't be sent again; what comes after it can.
    @Test func aLongStreamIsLostWithItsConnection() async throws {
        try await withServer { server in
            let content = SplitMix64(seed: 1).with { $0.bytes(6 << 20) }
            // The first result has passed, so the connection has come about.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(up: 5_500_000)])
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([
                .stream(PieceSource([content]), name: "long"), .text("after", name: "after"),
                .stream(PieceSource([Array("short".utf8)]), name: "short"),
            ]) {
                // Another lane could take what comes after, and its acknowledgement be lost with it.
                $0.lanes = .fixed(1)
            }
            #expect(outcome.failure == nil)
            #expect(outcome["long"]?.result == .connectionLost)
            #expect(outcome["long"]?.message.contains("stream") == true)
            #expect(outcome["after"]?.result == .committed)
            #expect(outcome["short"]?.result == .committed)
            #expect(server.tree == ["after", "short"])
        }
    }

    /// A stream that still fits what is kept is sent again from its front, with what came before and after.
    @Test func aShortStreamSurvivesItsConnection() async throws {
        try await withServer { server in
            let content = SplitMix64(seed: 2).with { $0.bytes(3 << 20) }
            // Behind the welcome, so that the connection has come about, and within the first result.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 135), .init(down: 135)])
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([
                .text("before", name: "before"), .stream(PieceSource([content]), name: "stream"),
            ])
            #expect(outcome.codes == [.committed, .committed])
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
