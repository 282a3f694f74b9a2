import Synchronization
import Testing
import TransferCodec
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Uploads in parts at two servers, in a store that records verified parts.
@Suite struct PartRecordsTests {
    private static let (block, piece) = (UInt64(Limits.blockSize), UInt64(Limits.pieceSize))
    private static let total = 2 * block
    private static let content = SplitMix64.bytes(seed: 1, Int(total))

    private let store: MemoryStore
    private let id = UploadID.random()
    private let (here, there): (MultipartUpload, MultipartUpload)

    init() throws {
        store = try MemoryStore(MemoryMedium())
        here = Self.server(id, store.records)
        there = Self.server(id, store.records)
    }

    private static func server(_ id: UploadID, _ records: (any PartRecords)?) -> MultipartUpload {
        MultipartUpload(id: id, total: total, function: .xxh128, started: 0, records: records)
    }

    private func claim(
        _ range: Range<UInt64>, at server: MultipartUpload, connection: Int = 1
    ) throws(Failure) -> PartClaim {
        try server.claim(range, connection: connection, run: nil) { () throws(Failure) in
            try store.resume(id: id, size: Self.total, filled: nil, quota: nil)
        }
    }

    /// Writes the claimed range of the content.
    private func write(_ claim: PartClaim) throws {
        let bytes = Array(Self.content[Int(claim.range.lowerBound)..<Int(claim.range.upperBound)])
        try bytes.withUnsafeBytes { try claim.write($0, at: 0) }
    }

    private static func digests(_ range: Range<UInt64>) -> [UInt8] {
        stride(from: range.lowerBound, to: range.upperBound, by: Int(block)).flatMap { start in
            content[Int(start)..<Int(min(start + block, range.upperBound))]
                .withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        }
    }

    private func bring(_ range: Range<UInt64>, to server: MultipartUpload, connection: Int = 1) throws {
        let claim = try claim(range, at: server, connection: connection)
        try write(claim)
        try claim.complete(digests: Self.digests(range))
    }

    /// Bytes that a connection which resumes the upload finds at the server.
    private func takeOver(_ server: MultipartUpload, connection: Int = 1) throws -> UInt64 {
        let presence = try server.takeOver(connection: connection, run: nil) { () throws(Failure) in
            try store.resume(id: id, size: Self.total, filled: nil, quota: nil)
        }
        guard case .known(let parts) = presence else {
            Issue.record("it has to be read")
            return 0
        }
        return parts.size
    }

    private func isTakenOver(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return (error as? Failure) == .takenOver }
        return false
    }

    private func requireWhole(_ server: MultipartUpload) throws {
        let finished = try #require(try server.finish(total: Self.total))
        #expect(finished.digest == IntakeFixture.digest(Self.content))
        #expect(
            finished.staged.digest(of: 0..<Self.total, .xxh128)
                == Self.content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
    }

    @Test func whatOneServerHasVerifiedCountsAtAnother() throws {
        try bring(0..<Self.block, to: here)
        #expect(try takeOver(there) == Self.block)
        try bring(Self.block..<Self.total, to: there)
        try requireWhole(there)
    }

    /// A restarted server takes the records from the store and reads no blocks.
    @Test func afterARestart() throws {
        try bring(0..<Self.block, to: here)
        let next = Self.server(id, store.records)
        #expect(try takeOver(next) == Self.block)
        try bring(Self.block..<Self.total, to: next)
        try requireWhole(next)
    }

    /// The lanes of one push may have reached different servers.
    @Test func partsOfOnePushCount() throws {
        try bring(0..<Self.block, to: here)
        try bring(Self.block..<Self.total, to: there)
        try requireWhole(here)
    }

    @Test func piecesOfOneBlock() throws {
        for (number, start) in stride(from: 0, to: Self.block, by: Int(Self.piece)).enumerated() {
            try bring(start..<start + Self.piece, to: number % 2 == 0 ? here : there)
        }
        #expect(try here.finish(total: Self.total) == nil)
        try bring(Self.block..<Self.total, to: there)
        try requireWhole(here)
    }

    @Test func partsOfAnOlderEpochAreRefused() throws {
        let part = try claim(0..<Self.block, at: here)
        let other = try claim(Self.block..<Self.total, at: here)
        try write(part)
        #expect(try takeOver(there) == 0)
        #expect(isTakenOver { try part.complete(digests: Self.digests(part.range)) })
        #expect(isTakenOver { try here.takeBack(connection: 1, run: nil) { () throws(Failure) in } })
        #expect(store.hasPart(id) && here.verified == 0)
        // The server knows of the takeover by now.
        #expect(isTakenOver { try write(other) })
        try bring(0..<Self.block, to: there)
        try bring(Self.block..<Self.total, to: here)
        try requireWhole(here)
    }

    @Test func aPartThatBeginsLaterHasTheNewEpoch() throws {
        let part = try claim(0..<Self.block, at: here)
        _ = try takeOver(there)
        try bring(Self.block..<Self.total, to: here)
        #expect(isTakenOver { try write(part) })
        try bring(0..<Self.block, to: there)
        try requireWhole(there)
    }

    @Test func ofTwoThatTakeItOverTheNewestHasIt() throws {
        let records = SlowRecords(try #require(store.records))
        let server = Self.server(id, records)
        records.between.withLock { between in
            between = { #expect(throws: Never.self) { try takeOver(server, connection: 2) } }
        }
        #expect(isTakenOver { _ = try takeOver(server) })
        try bring(0..<Self.total, to: server, connection: 2)
        try requireWhole(server)
    }

    @Test func whatIsBeingWrittenAgainDoesNotCount() throws {
        for range in [0..<Self.block, Self.block..<Self.total] { try bring(range, to: here) }
        let again = try claim(Self.block..<Self.block + Self.piece, at: there)
        #expect(try here.finish(total: Self.total) == nil)
        try write(again)
        try again.complete(digests: [])
        try requireWhole(here)
    }

    @Test func wholeBlocksOfAConnectionThatIsLostCount() throws {
        let part = try claim(0..<Self.total, at: here)
        try write(part)
        part.withdraw(digests: Self.digests(0..<Self.block))
        #expect(here.verified == Self.block)
        #expect(try takeOver(there) == Self.block)
    }

    @Test func noEpochIsGivenTwice() throws {
        let records = try #require(store.records)
        #expect(isTakenOver { _ = try records.join(id) })
        try bring(0..<Self.block, to: here)
        let first = try records.join(id)
        try here.takeBack(connection: 1, run: nil) { () throws(Failure) in }
        #expect(isTakenOver { _ = try records.takeOver(id) })
        #expect(try takeOver(there) == 0)
        let second = try records.join(id)
        #expect(second.epoch > first.epoch && second.parts.isEmpty)
        #expect(isTakenOver { try records.add(first.parts[0], to: id, epoch: first.epoch) })
        #expect(isTakenOver { try records.withdraw(first.parts[0].range, of: id, epoch: first.epoch) })
    }

    /// Records that fail or wait on request when they receive verified bytes, and that run a test's code between two
    /// questions.
    private final class SlowRecords: PartRecords {
        let records: any PartRecords
        let fails = Atomic(false)
        let waits = Atomic(false)
        let isWaiting = Atomic(false)
        let between = Locked<(@Sendable () -> Void)?>(nil)

        init(_ records: any PartRecords) { self.records = records }

        func join(_ id: UploadID) throws(Failure) -> RecordedParts { try records.join(id) }
        func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts {
            defer { between.withLock { $0.take() }?() }
            return try records.takeOver(id)
        }
        func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure) {
            try records.withdraw(range, of: id, epoch: epoch)
        }
        func remove(_ id: UploadID, below size: UInt64) throws(Failure) -> Bool { try records.remove(id, below: size) }
        func add(_ part: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure) {
            if fails.load(ordering: .sequentiallyConsistent) { throw Failure(.storageFailed, "The records are down.") }
            isWaiting.store(true, ordering: .sequentiallyConsistent)
            _ = until { !waits.load(ordering: .sequentiallyConsistent) }
            try records.add(part, to: id, epoch: epoch)
        }
    }

    @Test(arguments: [false, true]) func whatCannotBeRecordedDoesNotCount(isLost: Bool) throws {
        let records = SlowRecords(try #require(store.records))
        let server = Self.server(id, records)
        records.fails.store(true, ordering: .sequentiallyConsistent)
        let part = try claim(0..<Self.block, at: server)
        try write(part)
        if isLost {
            part.withdraw(digests: Self.digests(part.range))
        } else {
            let error = #expect(throws: Failure.self) { try part.complete(digests: Self.digests(part.range)) }
            #expect(error?.code == .storageFailed)
        }
        #expect(server.verified == 0)
        records.fails.store(false, ordering: .sequentiallyConsistent)
        for range in [0..<Self.block, Self.block..<Self.total] { try bring(range, to: server) }
        try requireWhole(server)
    }

    /// A connection that takes bytes over waits until the record about them is written. If the record were written
    /// after the first byte of the new owner, it would be wrong.
    @Test func aConnectionThatTakesBytesOverWaitsForTheirRecord() throws {
        let records = SlowRecords(try #require(store.records))
        let server = Self.server(id, records)
        records.waits.store(true, ordering: .sequentiallyConsistent)
        let part = try claim(0..<Self.block, at: server)
        try write(part)
        let isRefused = Locked(false)
        let claimed = Locked<PartClaim?>(nil)
        let older = TestThread {
            let isOver = isTakenOver { try part.complete(digests: Self.digests(part.range)) }
            isRefused.withLock { $0 = isOver }
        }
        #expect(until { records.isWaiting.load(ordering: .sequentiallyConsistent) })
        let newer = TestThread {
            let claim = try? claim(0..<Self.block, at: server, connection: 2)
            claimed.withLock { $0 = claim }
        }
        #expect(until { server.monitor.withLock { !server.monitor.state.leaving.isEmpty } })
        #expect(claimed.withLock { $0 == nil })
        records.waits.store(false, ordering: .sequentiallyConsistent)
        older.join()
        newer.join()
        #expect(isRefused.withLock(\.self) && claimed.withLock { $0 != nil })
        #expect(try store.records?.join(id).parts == [])
    }
}
