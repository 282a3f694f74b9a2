import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite struct PushManyTests {
    @Test func threeThousandFilesInNestedDirectories() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            var generator = SplitMix64(seed: 3)
            var contents: [String: [UInt8]] = [:]
            for number in 0..<3000 {
                let name = "d\(number % 7)/e\(number % 13)/f\(number)"
                contents[name] = generator.bytes(Int.random(in: 0...300, using: &generator))
            }
            for (name, content) in contents { try Files.write(source.path("many/\(name)"), content) }
            let outcome = try await server.address.outcome([.path(source.path("many"))])
            #expect(outcome.failure == nil)
            #expect(outcome.reports.count == 3000)
            #expect(outcome.codes.allSatisfy { $0 == .committed })
            #expect(Set(outcome.sources).count == 3000)
            #expect(contents.allSatisfy { server.stored("many/\($0)") == $1 })
        }
    }

    /// More uploads than may be unacknowledged, and more events than the channel holds, for a reader that starts late.
    @Test func aSlowReaderGetsEveryEvent() async throws {
        let isAhead = Gate()
        let fake = FakeServer { peer in
            peer.welcome(Welcome(unacknowledgedUploads: 100))
            var count = 0
            while let begin = peer.nextBegin() {
                peer.commit(begin)
                count += 1
                // About as many events as may wait for the reader.
                if count == 8000 { isAhead.put(nil) }
            }
        }
        var configuration = ClientConfiguration.patient
        // Results have a fixed order only on a single lane.
        configuration.lanes = .fixed(1)
        let client = try TransferClient(server: fake.address, configuration: configuration)
        let events = client.push((0..<10_000).lazy.map { Upload.text("", name: "\($0)") })
        await isAhead.wait()
        var sources: [String] = []
        for try await event in events {
            guard case .finished(let report) = event else { continue }
            sources.append(report.source)
            if sources.count % 100 == 0 { await Task.yield() }
        }
        #expect(sources == (0..<10_000).map { "\($0)" })
    }

    /// The server sets the window: the client begins no more uploads than it allows, and each result makes room.
    @Test(arguments: [1, 2, 7])
    func theWindowIsKept(_ window: Int) async throws {
        let fake = FakeServer { peer in
            peer.welcome(Welcome(unacknowledgedUploads: window))
            // Uploads begun before the welcome are within the default window.
            while let begin = peer.nextBegin() { peer.commit(begin) }
        }
        let uploads = (0..<50).map { Upload.text("\($0)", name: "\($0)") }
        let outcome = try await fake.address.outcome(uploads)
        #expect(outcome.codes == Array(repeating: .committed, count: 50))
    }
}
