import Testing
import TransferClusterModel
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCluster

/// Servers of one cluster, which share a database and a bucket.
@Suite struct ClusterStoreTests {
    private let medium = ClusterMedium()

    /// Makes each of the given faults happen once, in the call that it is for.
    private func once(_ faults: (ModelLedger.Call, ModelLedger.Fault)...)
        -> @Sendable (ModelLedger.Call) ->
        ModelLedger.Fault?
    {
        let left = Locked(faults)
        return { call in
            left.withLock { left in
                guard let index = left.firstIndex(where: { $0.0 == call }) else { return nil }
                return left.remove(at: index).1
            }
        }
    }

    @Test func anotherServerHasWhatOneHasStored() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let id = UploadID.random()
        #expect(try one.put("d/a", [1, 2, 3], id: id) == "d/a")
        #expect(try two.content("d/a") == [1, 2, 3])
        let entry = try #require(try two.records.entries(for: [id])[0])
        let version = two.store.version(at: try RelativePath("d/a"))
        #expect(entry.path == "d/a" && entry.version == version)
        #expect(try two.put("d/a", [1, 2, 3]) == "d/a")
        #expect(try two.put("d/a", [4]) == "d/a-1")
        #expect(medium.paths().sorted() == ["d", "d/a", "d/a-1"] && medium.database.check() == [])
    }

    /// What was seen together with the records is not looked up again.
    @Test func aBatchIsLookedUpOnce() throws {
        let looks = Locked(0)
        let node = try Node(medium) { call in
            if call == .look { looks.withLock { $0 += 1 } }
            return nil
        }
        let publication = try node.publication("d/e/a", [1])
        let (found, seen) = try node.records.entries(for: [publication.id], publishingAt: [publication.path])
        #expect(found == [nil] && looks.withLock { $0 } == 1)
        let batch = node.begin([publication], seen: seen)
        try batch.published.settlement?.commit(batch.entries, with: nil)
        #expect(looks.withLock { $0 } == 1)
        #expect(try node.content("d/e/a") == [1])
    }

    /// While the content was on its way to the bucket, another server has changed what was seen.
    @Test(arguments: ["d/a", "d/b"]) func whatWasSeenMayHaveChanged(_ path: String) throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let publication = try one.publication("d/a", [1])
        let seen = try one.records.entries(for: [publication.id], publishingAt: [publication.path]).seen
        try two.put(path, [2])
        let batch = one.begin([publication], seen: seen)
        let result = Result { try batch.published.settlement?.commit(batch.entries, with: nil) }
        // The folder is that of the other server. A file with another name than the promised one is not stored.
        if path == "d/b" { try result.get() } else { #expect(throws: RecordsError.self) { try result.get() } }
        #expect(medium.paths().sorted() == (path == "d/b" ? ["d", "d/a", "d/b"] : ["d", "d/a"]))
        #expect(try one.content("d/a") == (path == "d/b" ? [1] : [2]))
        #expect(medium.database.check() == [])
    }

    /// Two servers decide about the same path at the same moment.
    @Test(arguments: ConflictPolicy.allCases, [true, false])
    func oneOfTwoIsStored(_ policy: ConflictPolicy, isSame: Bool) throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let first = one.begin([try one.publication("a", [1], policy)])
        let second = two.begin([try two.publication("a", isSame ? [1] : [2], policy)])
        try first.published.settlement?.commit(first.entries, with: nil)
        // What was promised for the second one is not possible any more, so it is not stored, and is sent again.
        #expect(throws: RecordsError.self) { try second.published.settlement?.commit(second.entries, with: nil) }
        #expect(medium.paths() == ["a"])
        #expect(try one.content("a") == [1])
        let again = Result { try two.put("a", isSame ? [1] : [2], policy) }
        switch (policy, isSame) {
        case (_, true): #expect(try again.get() == "a")
        case (.keepBoth, _): #expect(try again.get() == "a-1")
        case (.skip, _): #expect(try again.get() == nil)
        case (.overwrite, _):
            #expect(try again.get() == "a")
            #expect(try one.content("a") == [2])
        case (.fail, _): #expect(throws: Failure.self) { try again.get() }
        }
        #expect(medium.database.check() == [])
    }

    /// Two servers make the same folder, each for its own file: both files are stored at once.
    @Test func aFolderThatAnotherServerMakesIsUsed() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        let batches = [one.begin([try one.publication("d/a", [1])]), two.begin([try two.publication("d/b", [2])])]
        for batch in batches { try batch.published.settlement?.commit(batch.entries, with: nil) }
        #expect(medium.paths().sorted() == ["d", "d/a", "d/b"] && medium.database.check() == [])
    }

    @Test(arguments: [false, true]) func aLostAnswerStoresOnce(hasLostMore: Bool) throws {
        let faults =
            hasLostMore ? once((.apply, .after), (.apply, .conflict), (.apply, .after)) : once((.apply, .after))
        let node = try Node(medium, fault: faults)
        let id = UploadID.random()
        #expect(try node.put("a", [1], id: id) == "a")
        #expect(medium.paths() == ["a"] && medium.database.check() == [])
        #expect(try node.content("a") == [1])
        #expect(try Node(medium).records.entries(for: [id])[0]?.path == "a")
    }

    /// The commit is made, and neither its answer nor a later look arrives: what the intake discards then stays.
    @Test func anUnknownCommitLosesNoObject() throws {
        let node = try Node(medium, fault: once((.apply, .after), (.nodes, .before)))
        let content = Self.long(2)
        let publication = try node.publication("a", content)
        #expect(throws: RecordsError.self) { try node.publish([publication]) }
        publication.content.discard()
        let isSame = try node.content("a") == content
        #expect(isSame && medium.bucket.contents.count == 2 && medium.database.check() == [])
    }

    /// The commit is visible and its answer is lost. While the server waits for the standby, the standby becomes the
    /// database and does not have the commit.
    @Test func aCommitThatAFailOverLosesIsNotAcknowledged() throws {
        let (before, fault) = (medium.database.contents, once((.apply, .after)))
        let node = try Node(medium) { [medium] call in
            if call == .awaitDurability { medium.database.restore(before) }
            return fault(call)
        }
        #expect(throws: RecordsError.self) { try node.put("a", [1]) }
        #expect(medium.paths().isEmpty)
    }

    @Test func whatTheDatabaseDoesNotTakeIsNotThere() throws {
        let node = try Node(medium, fault: once((.apply, .before)))
        let id = UploadID.random()
        #expect(throws: RecordsError.self) { try node.put("d/a", [1], id: id) }
        #expect(medium.paths() == [] && medium.database.check() == [])
        #expect(try node.put("d/a", [1], id: id) == "d/a")
    }

    /// Two uploads of a batch have one path, and the second one replaces the first one.
    @Test func aLaterUploadOfABatchReplacesAnEarlierOne() throws {
        let (node, ids) = (try Node(medium), [UploadID.random(), .random()])
        let batch = try [
            node.publication("a", [1], .overwrite, id: ids[0]), node.publication("a", [2], .overwrite, id: ids[1]),
        ]
        #expect(try node.publish(batch).allSatisfy { (try? $0.get().stored?.0.string) == "a" })
        #expect(try node.content("a") == [2] && medium.database.check() == [])
        let entries = try node.records.entries(for: ids)
        #expect(entries[0] == nil && entries[1]?.path == "a")
    }

    /// Two servers have the same upload, and between their decisions its path becomes free again.
    @Test func anUploadIsStoredOnceByTwoServers() throws {
        let (one, two, id) = (try Node(medium), try Node(medium), UploadID.random())
        try one.put("a", [1])
        let late = two.begin([try two.publication("a", [2], id: id)])
        #expect(try one.put("a", [2], id: id) == "a-1")
        try medium.remove(try RelativePath("a"))
        let other = two.begin([try two.publication("a", [2], id: id)])
        #expect(other.entries[0].path == "a")
        for batch in [late, other] {
            #expect(throws: RecordsError.self) { try batch.published.settlement?.commit(batch.entries, with: nil) }
        }
        #expect(medium.paths() == ["a-1"] && medium.database.check() == [])
        #expect(try two.records.entries(for: [id])[0]?.path == "a-1")
    }

    /// A settlement that is given up stores nothing, and its objects are deleted.
    @Test func whatIsGivenUpLeavesNothing() throws {
        let node = try Node(medium)
        var batch: PublishedBatch? = node.begin([try node.publication("a", Self.long(3))]).published
        #expect(batch?.settlement != nil && !medium.bucket.contents.isEmpty)
        batch = nil
        #expect(medium.paths() == [] && medium.bucket.contents.isEmpty)
    }

    /// A segment and two blocks, each with other bytes, and five bytes more.
    private static func long(_ seed: UInt8) -> [UInt8] {
        let rest = [UInt8](repeating: seed &+ 1, count: 2 * Limits.blockSize) + [1, 2, 3, 4, 5]
        return [UInt8](repeating: seed, count: Int(ClusterStaged.segment)) + rest
    }

    /// Long content is in segments, which are stored while it arrives.
    @Test func longContentIsInSegments() throws {
        let node = try Node(medium)
        let content = Self.long(7)
        #expect(try node.put("a", content) == "a")
        let isSame = try node.content("a") == content
        #expect(isSame && medium.bucket.contents.count == 2 && medium.database.check() == [])
    }

    /// A copy shares the objects of the source, whether these are segments or a pack.
    @Test(arguments: [true, false]) func aCopySharesObjects(isLong: Bool) throws {
        let node = try Node(medium)
        let content = isLong ? Self.long(5) : [1, 2, 3]
        try node.put("a", content)
        let source = try node.store.reader().open(try RelativePath("a"))
        let staged = try node.store.stage(
            id: .random(), size: UInt64(content.count), filled: nil, permissions: nil, quota: nil)
        #expect(try source.share(with: staged))
        let copy = Publication(
            staged: staged, id: .random(), path: try RelativePath("b"), size: UInt64(content.count),
            digest: Node.digest(of: content))
        _ = try node.publish([copy])[0].get()
        // The last object only describes the copy.
        #expect(medium.bucket.contents.count == (isLong ? 3 : 2))
        try medium.remove(try RelativePath("a"))
        let isSame = try node.content("b") == content
        #expect(isSame && medium.database.check() == [])
    }

    /// A moved file keeps its entries, but its ID is not acknowledged for the new path.
    @Test(arguments: ["d", "d/a"]) func anEntryFollowsItsFile(moved: String) throws {
        let node = try Node(medium)
        let id = UploadID.random()
        try node.put("d/a", [1], id: id)
        let target = moved == "d" ? "e" : "e/a"
        let changes = node.store.changes(for: nil)
        let planned = PlannedChange(.move(try RelativePath(moved), to: try RelativePath(target), replaces: false))
        changes.prepare([planned])
        _ = try changes.make(planned)
        try changes.commit(KnownChanges())
        #expect(try node.content("e/a") == [1])
        #expect(try node.records.entries(for: [id]) == [nil])
        let entries = try node.records.entries(at: ["e/a", "d/a"])
        #expect(entries[0].count == 1 && entries[0][0].id != id && entries[1].isEmpty)
        #expect(try node.put("d/a", [1], id: id) == "d/a")
        #expect(try node.records.entries(for: [id])[0]?.path == "d/a")
        #expect(medium.database.check() == [])
    }

    /// Content that was found damaged is not answered as stored, at no server; sending it again repairs it.
    @Test func damagedContentIsReplaced() throws {
        let (one, two) = (try Node(medium), try Node(medium))
        try one.put("a", [1])
        let version = try #require(one.store.version(at: try RelativePath("a")))
        try two.records.add(rotten: [RottenFile(version: version, digest: Node.digest(of: [1]))])
        let outcome = try one.publish([try one.publication("a", [1], .fail)])[0].get()
        guard case .healed(let path, _) = outcome else {
            Issue.record("the outcome is \(outcome)")
            return
        }
        #expect(path.string == "a" && medium.content(path) == [1])
        #expect(try !two.records.hasRotten())
        #expect(medium.database.check() == [])
    }

    /// A mark that is set while a server decides makes it decide again.
    @Test func damageThatIsFoundMeanwhileCounts() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        let batch = node.begin([try node.publication("a", [1])])
        let version = try #require(node.store.version(at: try RelativePath("a")))
        try node.records.add(rotten: [RottenFile(version: version, digest: Node.digest(of: [1]))])
        #expect(throws: RecordsError.self) { try batch.published.settlement?.commit(batch.entries, with: nil) }
    }

    /// The database is asked once for a batch, also if the batch makes new folders.
    @Test func oneLookForABatch() throws {
        let looks = Locked(0)
        let node = try Node(medium) { call in
            if call == .look { looks.withLock { $0 += 1 } }
            return nil
        }
        let batch = try (0..<50).map { try node.publication("new/folder/\($0)", [1]) }
        #expect(try node.publish(batch).allSatisfy { (try? $0.get()) != nil })
        #expect(looks.withLock { $0 } == 1 && medium.paths().count == 52)
        #expect(medium.database.check() == [])
    }

    /// Another server replaces a file between the look at its path and that at its extents.
    @Test func aFileThatIsReplacedWhileItIsOpened() throws {
        let (old, new) = (Self.long(1), Self.long(2))
        let other = try Node(medium)
        try other.put("a", old)
        let replaces = Locked(true)
        let node = try Node(medium) { call in
            guard call == .extents,
                replaces.withLock({ replaces in
                    defer { replaces = false }
                    return replaces
                })
            else { return nil }
            _ = try? other.put("a", new, .overwrite)
            return nil
        }
        let file = try node.store.reader().open(try RelativePath("a"))
        var bytes = [UInt8](repeating: 0, count: new.count)
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count > 0 && bytes.prefix(count).elementsEqual(new.prefix(count)))
    }
}
