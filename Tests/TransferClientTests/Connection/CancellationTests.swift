import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct CancellationTests {
    @Test func whatIsNotAcknowledgedIsReportedAsCancelled() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            peer.commitNext()
            peer.drain()
        }
        let client = try TransferClient(server: fake.address, configuration: .patient)
        let events = client.push((0..<3).map { Upload.text("\($0)", name: "\($0)") })
        var codes: [String: ResultCode] = [:]
        let failure = await #expect(throws: TransferFailure.self) {
            for try await event in events {
                guard case .finished(let report) = event else { continue }
                #expect(codes[report.source] == nil)
                codes[report.source] = report.result
                if report.result == .committed { events.cancel() }
            }
        }
        #expect(failure?.reason == .cancelled)
        #expect(codes["0"] == .committed)
        #expect(codes.values.filter { $0 == .cancelled }.count == codes.count - 1)
    }

    /// Uploads that wait to be sent again were begun before, so they are reported, too.
    @Test func cancelledBetweenTwoConnections() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            for _ in 0..<3 { _ = peer.nextEnd() }
        }
        let client = try TransferClient(server: fake.address, configuration: .patient)
        let events = client.push((0..<3).map { Upload.text("\($0)", name: "\($0)") })
        var sources: [String] = []
        let failure = await #expect(throws: TransferFailure.self) {
            for try await event in events {
                if case .reconnecting = event { events.cancel() }
                guard case .finished(let report) = event else { continue }
                #expect(report.result == .cancelled)
                sources.append(report.source)
            }
        }
        #expect(failure?.reason == .cancelled)
        #expect(sources == ["0", "1", "2"])
    }

    @Test func cancelledBeforeItBegan() async throws {
        let fake = FakeServer { $0.drain() }
        let client = try TransferClient(server: fake.address, configuration: .patient)
        let events = client.push([.text("x", name: "x")])
        events.cancel()
        #expect(await Outcome(events).failure?.reason == .cancelled)
        events.cancel()
        fake.stop()
    }

    /// The listening socket never answers, so the session never connects.
    @Test func aSessionCancelledBeforeItConnectsEndsAtOnce() async throws {
        let (_, port) = Wire.listen()
        let client = try EventLoop(name: "test")
        let address = try #require(ServerAddress("127.0.0.1:\(port)"))
        let pool = BlockingPool(name: "test", threads: 1)
        let context = RunContext(
            server: address, configuration: .patient, loop: client, pool: pool,
            buffers: BufferPool(size: OutgoingChunk.capacity, count: 2), feed: UploadFeed([], folder: ""))
        let resolved = try address.endpoint.resolve()
        let session = ClientSession(context)
        await session.cancel()
        #expect(await session.converse(with: resolved[0]) == .cancelled)
        client.stop()
        pool.close()
    }

    /// Cancelling the task cancels its push.
    @Test func aCancelledTaskCancelsItsPush() async throws {
        let gate = Gate()
        let fake = FakeServer { peer in
            peer.welcome()
            _ = peer.nextEnd()
            gate.put([])
            peer.drain()
        }
        let client = try TransferClient(server: fake.address, configuration: .patient)
        let task = Task { await client.outcome([.text("x", name: "x")]) }
        await gate.wait()
        task.cancel()
        let outcome = await task.value
        #expect(outcome.failure?.reason == .cancelled)
        #expect(outcome.codes == [.cancelled])
    }

    @Test func aPushWhoseEventsNobodyTakesEnds() async throws {
        let gate = Gate()
        let fake = FakeServer { peer in
            peer.welcome()
            peer.drain()
            gate.put([])
        }
        let client = try TransferClient(server: fake.address, configuration: .patient)
        for try await event in client.push([.text("x", name: "x")]) {
            if case .connected = event { break }
        }
        await gate.wait()
    }
}
