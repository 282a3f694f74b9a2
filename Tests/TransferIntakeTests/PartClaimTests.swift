import Glibc
import Synchronization
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

@Suite struct PartClaimTests {
    /// Content on a disk whose write lasts until the test ends it.
    private final class SlowContent: StagedContent {
        struct Nothing: ContentSurvey {
            func step(threads: Int) throws(Failure) -> [SurveyedBlock]? { nil }
        }

        let isNew = true
        let hasReplaced = false
        let isWriting = Atomic(false)
        let mayEnd = Atomic(false)
        let events: Locked<[String]>

        init(_ events: [String] = []) { self.events = Locked(events) }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
            isWriting.store(true, ordering: .sequentiallyConsistent)
            _ = until { mayEnd.load(ordering: .sequentiallyConsistent) }
            events.withLock { $0.append("written") }
        }

        func clear(_ range: Range<UInt64>) throws(Failure) {
            events.withLock { $0.append("cleared \(range.lowerBound) to \(range.upperBound)") }
        }

        func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> Nothing { Nothing() }
        func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? { nil }
        func trim(to size: UInt64) throws(Failure) {}
        func giveBackRoom() {}
        func discard() {}
    }

    /// A connection that takes bytes over waits for the last write of their former owner. No other connection waits for
    /// it.
    @Test func takingOverWaitsForTheWriterAlone() throws {
        let block = UInt64(Limits.blockSize)
        let content = SlowContent()
        let multipart = MultipartUpload(id: .random(), total: 2 * block, function: .xxh128, started: 0)
        let older = try multipart.claim(0..<block, connection: 1, run: 1) { () throws(Failure) in content }
        let writer = TestThread {
            [UInt8](repeating: 1, count: 3).withUnsafeBytes { bytes in try? older.write(bytes, at: 0) }
        }
        #expect(until { content.isWriting.load(ordering: .sequentiallyConsistent) })
        let newer = TestThread {
            _ = try? multipart.claim(0..<block, connection: 2, run: 2) { () throws(Failure) in content }
            content.events.withLock { $0.append("claimed") }
        }
        #expect(until { multipart.run == 2 })
        let beside = try multipart.claim(block..<2 * block, connection: 3, run: 3) { () throws(Failure) in content }
        beside.withdraw(digests: [])
        #expect(multipart.verified == 0 && !multipart.isFinished)
        #expect(content.events.withLock { $0 } == [])
        content.mayEnd.store(true, ordering: .sequentiallyConsistent)
        writer.join()
        newer.join()
        #expect(content.events.withLock { $0 } == ["written", "claimed"])
        #expect(throws: Failure.takenOver) { try older.complete(digests: []) }
    }
}

func until(_ isSo: () -> Bool) -> Bool {
    let end = time(nil) + 180
    while !isSo() {
        guard time(nil) < end else { return false }
        sched_yield()
    }
    return true
}
