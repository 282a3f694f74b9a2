import Testing
import TransferClusterModel
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCluster

/// Unfinished uploads whose parts arrive at different servers.
@Suite struct PartTests {
    private let medium = ClusterMedium()
    private let id = UploadID.random()

    /// Two blocks, of which the second one is short.
    private static let content = [UInt8](repeating: 3, count: Limits.blockSize) + [1, 2, 3, 4, 5]
    private static let size = UInt64(content.count)
    private static let ranges = [0..<UInt64(Limits.blockSize), UInt64(Limits.blockSize)..<size]

    private static func part(_ index: Int) -> (part: RecordedPart, bytes: [UInt8]) {
        let range = ranges[index]
        let bytes = Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
        let digest = bytes.span.bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        return (RecordedPart(range, digests: digest), bytes)
    }

    /// One part arrives at a server.
    private func send(_ index: Int, to node: Node, epoch: UInt64? = nil) throws -> ClusterStaged {
        let staged = try node.store.resume(id: id, size: Self.size, filled: nil, quota: nil)
        let (part, bytes) = Self.part(index)
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
            try staged.write(bytes, at: part.range.lowerBound)
        }
        let records = try #require(node.store.records)
        try records.add(part, to: id, epoch: try epoch ?? records.join(id).epoch)
        return staged
    }

    private func publication(_ staged: ClusterStaged) throws -> Publication {
        Publication(
            staged: staged, id: id, path: try RelativePath("a"), size: Self.size,
            digest: Node.digest(of: Self.content))
    }

    /// Lanes of one push are at two servers, and the upload ends at a third.
    @Test func partsOfTwoServersAreOneFile() throws {
        let nodes = try (0..<3).map { _ in try Node(medium) }
        _ = try send(1, to: nodes[0])
        _ = try send(0, to: nodes[1])
        let records = try #require(nodes[2].store.records)
        #expect(try records.join(id).parts == [Self.part(0).part, Self.part(1).part])
        let staged = try nodes[2].store.resume(id: id, size: Self.size, filled: nil, quota: nil)
        #expect(!staged.isNew)
        try nodes[2].publish([try publication(staged)])
        let isSame = try nodes[0].content("a") == Self.content
        #expect(isSame && medium.uploads.isEmpty && medium.database.check() == [])
        // One object for each part, and one that describes the file.
        #expect(medium.bucket.contents.count == 3)
    }

    /// A server that was asleep adds nothing to an upload that another one has taken over.
    @Test func anOlderEpochIsRefused() throws {
        let (asleep, awake) = (try Node(medium), try Node(medium))
        _ = try send(0, to: asleep)
        let old = try #require(asleep.store.records).join(id).epoch
        let taken = try #require(awake.store.records).takeOver(id)
        #expect(taken.epoch != old && taken.parts == [Self.part(0).part])
        #expect(throws: Failure.takenOver) { try self.send(1, to: asleep, epoch: old) }
        // Its object is gone, too.
        #expect(medium.bucket.contents.count == 1 && medium.database.check() == [])
        _ = try send(1, to: awake, epoch: taken.epoch)
        #expect(throws: Failure.takenOver) {
            try #require(asleep.store.records).withdraw(Self.ranges[0], of: id, epoch: old)
        }
    }

    @Test func anUploadThatBeginsAgainHasAnotherEpoch() throws {
        let node = try Node(medium)
        _ = try send(0, to: node)
        let old = try #require(node.store.records).join(id).epoch
        try node.store.removePart(id)
        #expect(!node.store.hasPart(id) && medium.uploads.isEmpty && medium.database.check() == [])
        _ = try send(0, to: node)
        #expect(throws: Failure.takenOver) { try self.send(1, to: node, epoch: old) }
    }

    @Test func aPartThatIsSentAgainReplacesItsObject() throws {
        let node = try Node(medium)
        _ = try send(0, to: node)
        _ = try send(0, to: node)
        let staged = try send(1, to: node)
        try node.publish([try publication(staged)])
        let isSame = try node.content("a") == Self.content
        let unused = medium.database.contents.objects.values.filter { $0.row.live == 0 }
        #expect(isSame && unused.count == 1 && medium.database.check() == [])
    }

    /// A server has verified all parts, and another one removes one of them before the upload is published.
    @Test func partsThatWentMeanwhileAreNotPublished() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        _ = try send(0, to: one)
        let staged = try send(1, to: one)
        let taken = try #require(two.store.records).takeOver(id)
        try #require(two.store.records).withdraw(Self.ranges[0], of: id, epoch: taken.epoch)
        let outcomes = try one.publish([try publication(staged)])
        #expect(outcomes == [.failure(.takenOver)] && medium.paths().isEmpty && medium.uploads == [id])
        _ = try send(0, to: two, epoch: taken.epoch)
        try one.publish([try publication(staged)])
        let isSame = try two.content("a") == Self.content
        #expect(isSame && medium.database.check() == [])
    }

    /// A server whose clock is a year ahead does not take a new upload for an old one.
    @Test func theAgeOfAnUploadIsThatOfTheDatabase() throws {
        let (node, year) = (try Node(medium), Int64(365 * 86_400))
        _ = try send(0, to: node)
        let other = try medium.store(skew: year * 1_000_000_000)
        let now = Int(utcNanoseconds() / 1_000_000_000) + Int(year)
        _ = try other.removeUnfinished(where: { now - $0 > 3600 }, unless: { _ in false })
        #expect(medium.uploads == [id])
        _ = try other.removeUnfinished(where: { now - $0 > -3600 }, unless: { _ in false })
        #expect(medium.uploads.isEmpty)
    }

    /// While one server looks for old uploads, a client goes on with one of them at another server.
    @Test func anUploadThatGoesOnIsNotTooOld() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        _ = try send(1, to: one)
        let removed = try one.store.removeUnfinished(
            where: { _ in
                #expect(throws: Never.self) { try send(0, to: two) }
                return true
            }, unless: { _ in false })
        #expect(removed.count == 0 && medium.uploads == [id])
        #expect(try #require(one.store.records).join(id).parts == [Self.part(0).part, Self.part(1).part])
        #expect(try one.store.removeUnfinished(where: { _ in true }, unless: { _ in false }).count == 1)
        #expect(medium.uploads.isEmpty && medium.database.check() == [])
    }

    /// A server lets go of a short upload, of which another one gets a whole block at that moment.
    @Test func aShortUploadThatGrowsIsNotRemoved() throws {
        let two = try Node(medium)
        let isRemoving = Locked(false)
        let one = try Node(medium) { call in
            guard call == .apply,
                isRemoving.withLock({ isOn in
                    defer { isOn = false }
                    return isOn
                })
            else { return nil }
            #expect(throws: Never.self) { try self.send(0, to: two) }
            return nil
        }
        _ = try send(1, to: one)
        let records = try #require(one.store.records)
        isRemoving.withLock { $0 = true }
        #expect(try !records.remove(id, below: UInt64(Limits.blockSize)))
        #expect(try records.join(id).parts == [Self.part(0).part, Self.part(1).part])
        #expect(try records.remove(id, below: Self.size + 1) && medium.uploads.isEmpty)
        #expect(try records.remove(id, below: 0) && medium.database.check() == [])
    }

    /// A server gives up an upload that another one has taken over meanwhile.
    @Test func anUploadThatWasTakenOverIsNotRemoved() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let staged = try send(0, to: one)
        let taken = try #require(two.store.records).takeOver(id)
        staged.discard()
        #expect(medium.uploads == [id])
        _ = try send(1, to: two, epoch: taken.epoch)
        try two.store.resume(id: id, size: Self.size, filled: nil, quota: nil).discard()
        #expect(medium.uploads.isEmpty && medium.database.check() == [])
    }

    /// The only request of an append upload has an end, so nothing of it was kept before it is published.
    @Test func anAppendUploadOfOneRequestIsPublished() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let appendable = try one.store.makeAppendable(
            id: id, size: nil, function: .xxh128, declaration: [9], quota: nil)
        let staged = try #require(appendable.content as? ClusterStaged)
        try Self.content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        let batch = one.begin([try publication(staged)])
        // A file whose digest has another function is compared with the content.
        let hasher = BlockHasher(.sha256)
        Self.content.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<Limits.blockSize])) }
        #expect(staged.digest(of: 0..<UInt64(Limits.blockSize), .sha256) == hasher.finish())
        try batch.published.settlement?.commit(batch.entries, with: nil)
        let isSame = try two.content("a") == Self.content
        #expect(isSame && medium.uploads.isEmpty && medium.database.check() == [])
    }

    /// What one server has received of an append upload is not published once another one has opened the upload.
    @Test func anAppendUploadIsPublishedByItsOwner() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let appendable = try one.store.makeAppendable(
            id: id, size: nil, function: .xxh128, declaration: [9], quota: nil)
        let staged = try #require(appendable.content as? ClusterStaged)
        try Self.content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        _ = try two.store.appendable(id: id, quota: nil) { _, _ in nil }
        let outcomes = try one.publish([try publication(staged)])
        #expect(outcomes == [.failure(.takenOver)] && medium.paths().isEmpty && medium.uploads == [id])
    }

    /// An append upload goes on at another server, and the first one keeps nothing more.
    @Test func anAppendUploadGoesOnElsewhere() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let first = try one.store.makeAppendable(
            id: id, size: nil, function: .xxh128, declaration: [9], quota: nil)
        let bytes: [UInt8] = [1, 2, 3]
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try first.content.write(bytes, at: 0) }
        try first.keep(AppendMark(offset: 3, tail: [7]))
        let second = try #require(try two.store.appendable(id: id, quota: nil) { _, _ in nil })
        #expect(second.kept == AppendMark(offset: 3, tail: [7]) && second.declaration == [9])
        #expect(throws: Failure.takenOver) { try first.keep(AppendMark(offset: 4, tail: [8])) }
        var read: [UInt8] = []
        try second.read(0..<3) { read += Array($0) }
        #expect(read == bytes)
        second.discard()
        #expect(medium.uploads.isEmpty && medium.database.check() == [])
    }

    /// The last bytes of an append upload are stored with it, although they were never recorded for a later server.
    @Test(arguments: [0, 2]) func whatCameLastIsStoredAsWell(kept: Int) throws {
        let node = try Node(medium)
        let append = try node.store.makeAppendable(
            id: id, size: 3, function: .xxh128, declaration: [9], quota: nil)
        let bytes: [UInt8] = [1, 2, 3]
        for (index, byte) in bytes.enumerated() {
            try [byte].span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
                try append.content.write(bytes, at: UInt64(index))
            }
            if index + 1 == kept { try append.keep(AppendMark(offset: UInt64(kept), tail: [7])) }
        }
        let publication = Publication(
            staged: append.content, id: id, path: try RelativePath("a"), size: 3, digest: Node.digest(of: bytes))
        _ = try node.publish([publication])[0].get()
        #expect(try node.content("a") == bytes)
        #expect(medium.uploads.isEmpty && medium.database.check() == [])
    }

    /// An upload counts once, although a count of the quota finds its row as well, and a short part frees nothing.
    @Test func anUploadCountsOnce() throws {
        let (store, other) = (try Node(medium).store, try Node(medium).store)
        let (quota, otherQuota) = (quota(of: store), quota(of: other))
        let staged = try store.resume(id: id, size: 8, filled: nil, quota: quota)
        #expect(quota.used == 8 && staged.isNew)
        let records = try #require(store.records)
        let epoch = try records.join(id).epoch
        try [UInt8(1)].span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        try records.add(RecordedPart(0..<1, digests: []), to: id, epoch: epoch)
        #expect(store.part(id)?.size == 8)
        // An upload that cannot begin holds no room.
        #expect(throws: Failure.self) { try store.resume(id: .random(), size: 5, filled: nil, quota: quota) }
        #expect(throws: Failure.self) {
            try store.makeAppendable(id: id, size: 12, function: .xxh128, declaration: [], quota: quota)
        }
        #expect(quota.used == 8 && medium.uploads == [id])
        _ = try other.resume(id: id, size: 8, filled: nil, quota: otherQuota)
        #expect(otherQuota.used == 8)
    }

    /// A quota of 12 bytes that counts as one server of the cluster does.
    private func quota(of store: ClusterStore) -> Quota {
        Quota(ofStore: 12) { [id] _ in
            Quota.Count(stored: 0, parts: store.part(id).map { [id: $0.size] } ?? [:])
        }
    }
}
