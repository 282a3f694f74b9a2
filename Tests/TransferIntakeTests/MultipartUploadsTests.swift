import Glibc
import Testing
import TransferAccess
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// The number of uploads in parts is limited, in total and per client.
@Suite struct MultipartUploadsTests {
    @Test func whoeverIsWorkedOnStays() throws {
        let multiparts = MultipartUploads(limit: 2)
        let ids = (0..<3).map { _ in UploadID.random() }
        for (id, owner) in zip(ids.prefix(2), owners) {
            _ = try multiparts.enter(id, total: nil, .xxh128, accountHolder: owner, now: 0)
        }
        #expect(throws: Failure.tooManyMultiparts) {
            try multiparts.enter(ids[2], total: nil, .xxh128, accountHolder: owners[2], now: 0)
        }
        _ = try multiparts.enter(ids[0], total: nil, .xxh128, accountHolder: owners[0], now: 0)
    }

    /// A client may have an eighth of the places, and the last eighth is for clients that have no upload.
    @Test func aFewLeavePlacesToNewcomers() throws {
        let multiparts = MultipartUploads(limit: 32)
        func enter(_ holder: AccountHolder) throws {
            _ = try multiparts.enter(.random(), total: nil, .xxh128, accountHolder: holder, now: 0)
        }
        for client in 0..<7 {
            for _ in 0..<4 { try enter(.client(.token("\(client)"))) }
            #expect(throws: Failure.tooManyOfOne) { try enter(.client(.token("\(client)"))) }
        }
        for newcomer in 7..<11 { try enter(.client(.token("\(newcomer)"))) }
        #expect(throws: Failure.tooManyOfOne) { try enter(.client(.token("7"))) }
        #expect(throws: Failure.tooManyMultiparts) { try enter(.client(.token("11"))) }
    }

    /// An upload without a connection counts for no client. The client that continues it gets the place.
    @Test func whatIsDesertedCountsForNobody() throws {
        let (multiparts, store) = (MultipartUploads(limit: 16), try StoredParts())
        let ids = (0..<3).map { _ in UploadID.random() }
        for id in ids.prefix(2) {
            let multipart = try multiparts.enter(id, total: nil, .xxh128, accountHolder: owners[0], now: 0)
            try store.bringPart(to: multipart)
            multiparts.leave(multipart, now: 1)
        }
        _ = try multiparts.enter(ids[0], total: nil, .xxh128, accountHolder: owners[1], now: 0)
        for id in ids.suffix(2) { _ = try multiparts.enter(id, total: nil, .xxh128, accountHolder: owners[0], now: 0) }
    }

    @Test func theLongestDesertedGoesFirst() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let ids = (0..<3).map { _ in UploadID.random() }
        for (time, id) in ids.prefix(2).enumerated() {
            let multipart = try multiparts.enter(id, total: nil, .xxh128, accountHolder: .thisMachine, now: 0)
            try store.bringPart(to: multipart)
            multiparts.leave(multipart, now: Int64(time))
        }
        _ = try multiparts.enter(ids[2], total: nil, .xxh128, accountHolder: .thisMachine, now: 0)
        #expect(multiparts[ids[0]] == nil)
        #expect(multiparts[ids[1]] != nil)
        #expect(store.parts.count == 2, "the file of what was let go stays")
    }

    @Test func whoLeavesNothingLeavesNoFile() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let id = UploadID.random()
        let multipart = try multiparts.enter(id, total: 5 << 20, .xxh128, accountHolder: .thisMachine, now: 0)
        let claim = try store.claim(of: multipart)
        #expect(store.parts.count == 1)
        claim.withdraw(digests: [])
        multiparts.leave(multipart, now: 1)
        #expect(multiparts[id] == nil)
        #expect(store.parts.isEmpty)
    }

    /// An upload with less than a block is removed from the disk as soon as it leaves memory: uploads of a few bytes
    /// would otherwise take all places on the disk for a week. While the upload is in memory, the next connection finds
    /// it: the last part of a stream may be the first that the server receives.
    @Test func lessThanABlockGoesWithItsPlaceInMemory() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let ids = (0..<3).map { _ in UploadID.random() }
        for (index, id) in ids.enumerated() {
            let multipart = try multiparts.enter(id, total: 5 << 20, .xxh128, accountHolder: owners[index], now: 0)
            try store.claim(of: multipart, bytes: 1).complete(digests: [UInt8](repeating: 0, count: 16))
            multiparts.leave(multipart, now: Int64(index))
            #expect(multiparts[id] === multipart && multipart.verified == 1)
        }
        #expect(multiparts[ids[0]] == nil && store.parts.count == 2)
        multiparts.letGo(desertedUpTo: 1)
        #expect(multiparts[ids[1]] == nil && store.parts.count == 1)
        multiparts.letGo(desertedUpTo: 2)
        #expect(multiparts.isEmpty && store.parts.isEmpty)
    }

    /// An upload without a connection gives back the room that it reserved. Other uploads need this room until a client
    /// continues the upload.
    @Test func whatIsKeptTakesNoMoreThanItHolds() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let size = UInt64(64 << 20)
        let multipart = try multiparts.enter(.random(), total: size, .xxh128, accountHolder: .thisMachine, now: 0)
        try store.bringPart(to: multipart, total: size)
        multiparts.leave(multipart, now: 1)
        multiparts.letGo(desertedUpTo: 1)
        let left = try #require(store.store.part(multipart.id)?.size)
        #expect(store.parts.count == 1 && left < size / 2)
    }

    /// The event loop asks whether an upload is unfinished, so the answer must not wait for a slow disk that makes room
    /// for a part.
    @Test func whetherSomethingIsUnfinishedWaitsForNoDisk() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let multipart = try multiparts.enter(.random(), total: nil, .xxh128, accountHolder: .thisMachine, now: 0)
        let answer = Locked<Bool?>(nil)
        let asking = Locked<TestThread?>(nil)
        let claim = try multipart.claim(0..<UInt64(Limits.blockSize), connection: 1, run: 7) {
            () throws(Failure) in
            asking.withLock { thread in
                thread = TestThread { answer.withLock { $0 = multiparts.areUnfinished(of: 7) } }
            }
            let end = time(nil) + 180
            while answer.withLock({ $0 }) == nil, time(nil) < end { sched_yield() }
            #expect(answer.withLock { $0 } != nil)
            return try store.store.resume(id: multipart.id, size: nil)
        }
        asking.withLock { $0 }?.join()
        #expect(multiparts.areUnfinished(of: 7) && !multiparts.areUnfinished(of: 8))
        claim.withdraw(digests: [])
    }

    /// Bytes that an earlier server received may be read again, whatever happened to the upload at this server.
    @Test func whatWasThereStays() throws {
        let (multiparts, store) = (MultipartUploads(limit: 2), try StoredParts())
        let id = UploadID.random()
        _ = try store.store.resume(id: id, size: nil)
        let multipart = try multiparts.enter(id, total: nil, .xxh128, accountHolder: .thisMachine, now: 0)
        try store.claim(of: multipart).withdraw(digests: [])
        multiparts.leave(multipart, now: 1)
        #expect(store.parts.count == 1)
    }
}

private let owners = (0..<3).map { AccountHolder.client(.token("token \($0)")) }

/// A store with parts of uploads.
private struct StoredParts {
    let directory: TemporaryDirectory
    let store: FileStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"))
    }

    var parts: [String] { names(in: directory.path("store/.transfer/incoming")) }

    func claim(of multipart: MultipartUpload, bytes: Int = Limits.blockSize, total: UInt64? = nil) throws -> PartClaim {
        try multipart.claim(0..<UInt64(bytes), connection: 1, run: nil) { [store] () throws(Failure) in
            try store.resume(id: multipart.id, size: total)
        }
    }

    /// Sends one block of an upload.
    func bringPart(to multipart: MultipartUpload, total: UInt64? = nil) throws {
        let claim = try claim(of: multipart, total: total)
        try [UInt8](repeating: 1, count: Limits.blockSize).withUnsafeBytes { try claim.write($0, at: 0) }
        try claim.complete(digests: [UInt8](repeating: 0, count: 16))
    }
}
