import CLinux
import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct StagedFileTests {
    private static let longSize = Limits.blockSize + 4321

    private func content(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return random.bytes(count)
    }

    private func write(_ bytes: [UInt8], to staged: StagedFile, in order: [Range<Int>]) throws {
        try bytes.withUnsafeBytes { whole in
            for range in order {
                try staged.write(UnsafeRawBufferPointer(rebasing: whole[range]), at: UInt64(range.lowerBound))
            }
        }
    }

    private func pieces(_ count: Int, of size: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: size).map { $0..<min($0 + size, count) }
    }

    @Test(arguments: [0, 1, 4096, Limits.blockSize, longSize], [0, 1, 2])
    func whateverTheOrder(size: Int, order: Int) throws {
        let fixture = try StoreFixture()
        let content = content(size)
        var pieces = pieces(size, of: 300_001)
        if order == 1 { pieces.reverse() }
        if order == 2 {
            var random = SplitMix64(seed: 11)
            pieces.shuffle(using: &random)
        }
        let publication = try fixture.publication("a", [])
        let staged = try fixture.store.stage(id: publication.id, size: UInt64(size), permissions: nil)
        try write(content, to: staged, in: pieces)
        #expect(fixture.visible.isEmpty)
        let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        let outcome = fixture.publish([
            Publication(
                staged: staged, id: publication.id, path: publication.path, size: UInt64(size), digest: digest)
        ])
        #expect(outcome == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == content)
        #expect(fixture.visible == ["a"])
        #expect(fixture.parts.isEmpty)
    }

    /// If there is no room for a part, no part stays. A request about an upload that is too large could otherwise fill
    /// the disk, or use up a part, for a week.
    @Test(arguments: ["reserve", "examine"]) func aPartWithoutRoomLeavesNothing(call: String) throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), script: script)
        script.fail(call, with: ENOSPC)
        script.start()
        #expect(throws: Failure.self) { try fixture.store.resume(id: .random(), size: 9 << 20) }
        #expect(script.failed == [call])
        #expect(fixture.parts.isEmpty && fixture.store.incoming.parts.load(ordering: .relaxed) == 0)
    }

    /// A file system that cannot reserve space has no reservation to release.
    /// The trash is asked for the room that is missing, and not for all that the upload takes.
    @Test func onlyTheMissingRoomIsAskedOfTheTrash() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), script: script)
        let asked = Locked<[UInt64]>([])
        fixture.store.incoming.room.set { need in
            if case .disk(let lacking) = need { asked.withLock { $0.append(lacking) } }
            return true
        }
        script.fail("reserve", with: ENOSPC)
        script.start()
        let staged = try fixture.store.resume(id: .random(), size: 9 << 20)
        #expect(script.failed == ["reserve"] && asked.withLock(\.self) == [1])
        staged.discard()
    }

    @Test func whatIsReservedIsGivenBack() throws {
        let fixture = try StoreFixture()
        let (id, size) = (UploadID.random(), UInt64(64 << 20))
        let staged = try fixture.store.resume(id: id, size: size)
        try [UInt8](repeating: 7, count: 4096).withUnsafeBytes { try staged.write($0, at: size / 2) }
        try [UInt8](repeating: 8, count: 4096).withUnsafeBytes { try staged.write($0, at: size - 4096) }
        staged.giveBackRoom()
        #expect(try staged.present < 1 << 20)
        let content = try #require(Files.read(fixture.path(".transfer/incoming/\(id).part")))
        #expect(content.count == size && content[Int(size / 2)] == 7 && content.last == 8 && content[0] == 0)
        try staged.reserve(size)
    }

    /// An upload larger than the free space is refused before it takes any of that space.
    @Test func moreThanThereIsTakesNothing() throws {
        let fixture = try StoreFixture()
        let error = #expect(throws: Failure.self) { try fixture.store.resume(id: .random(), size: 1 << 61) }
        #expect(error?.code == .insufficientStorage && fixture.parts.isEmpty)
    }

    /// A power cut can leave both names of a rename that was not synced: the old name is not a part any more.
    @Test func whatHasANameIsNoPartAnyMore() throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a", .one, asPart: true)
        let part = fixture.path(".transfer/incoming/\(publication.id).part")
        #expect(link(part, fixture.path("published")) == 0)
        let staged = try fixture.store.resume(id: publication.id, size: nil)
        #expect(staged.isNew)
        try [UInt8].two.withUnsafeBytes { try staged.write($0, at: 0) }
        #expect(Files.read(fixture.path("published")) == .one)
        #expect(Files.read(part) == .two)
    }

    /// Once another file has replaced the published file, its second name looks like a part.
    @Test func secondNamesGoBeforeAnythingElse() throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a", .one, asPart: true)
        let part = fixture.path(".transfer/incoming/\(publication.id).part")
        #expect(link(part, fixture.path("published")) == 0)
        let other = try fixture.publication("b", .two, asPart: true)
        #expect(try fixture.store.removeLeftovers().count == 0)
        #expect(Files.read(fixture.path("published")) == .one)
        #expect(fixture.parts == ["\(other.id).part"])
    }

    /// A leftover that cannot be removed does not keep second names from being removed, and is removed later.
    @Test func secondNamesGoAlsoWhenALeftoverCannot() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), script: script)
        let publication = try fixture.publication("a", .one, asPart: true)
        #expect(link(fixture.path(".transfer/incoming/\(publication.id).part"), fixture.path("published")) == 0)
        let leftover = StagedFile.scratchName()
        try Files.write(.two, to: fixture.path(".transfer/incoming/\(leftover)"))
        script.start()
        script.fail("unlink", with: EIO)
        let error = #expect(throws: Failure.self) { try fixture.store.removeLeftovers() }
        #expect(error?.code == .storageFailed && fixture.parts == [leftover])
        #expect(try fixture.store.removeLeftovers().count == 1)
        #expect(fixture.parts.isEmpty && Files.read(fixture.path("published")) == .one)
    }

    @Test func smallOnesHaveNoNameUntilPublished() throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a", .one)
        #expect(fixture.parts.isEmpty)
        #expect(fixture.visible.isEmpty)
        #expect(fixture.publish([publication]) == [.success(try .committed("a"))])
    }

    /// Older kernels allow linking by descriptor only to privileged processes.
    @Test(arguments: [true, false]) func eitherWayOfLinking(byDescriptor: Bool) throws {
        let fixture = try StoreFixture()
        let links = { fixture.store.incoming.linksByDescriptor.load(ordering: .relaxed) }
        fixture.store.incoming.linksByDescriptor.store(byDescriptor, ordering: .relaxed)
        #expect(try fixture.publish("a", .one) == .committed("a"))
        #expect(try fixture.publish("a", .one) == .alreadyStored("a"))
        #expect(try fixture.publish("a", .two, .overwrite) == .committed("a"))
        #expect(Files.read(fixture.path("a")) == .two)
        #expect(fixture.parts.isEmpty)
        // A removed directory gives the same error as a kernel that refuses, so the error proves nothing about the
        // kernel.
        let before = links()
        let publication = try fixture.publication("b", .one)
        try Files.makeDirectory(fixture.path("gone"))
        let directory = try fixture.store.tree.open(try RelativePath("gone"))
        rmdir(fixture.path("gone"))
        #expect(throws: SystemError(errno: ENOENT, call: "linkat")) {
            try publication.staged.giveName("b", in: directory)
        }
        #expect(links() == before)
        #expect(fixture.publish([publication]) == [.success(try .committed("b"))])
    }

    @Test func onlyWhatCanBeResumedHasAName() throws {
        let fixture = try StoreFixture()
        let id = UploadID.random()
        let staged = try [1, UInt64(Limits.blockSize) + 1, nil].map { size in
            try fixture.store.stage(id: .random(), size: size, permissions: nil)
        }
        #expect(fixture.parts.isEmpty)
        var part: StagedFile? = try fixture.store.resume(id: id, size: UInt64(Limits.blockSize) + 1)
        #expect(fixture.parts == ["\(id).part"])
        #expect(Files.status(fixture.path(".transfer/incoming/\(id).part"))?.st_size == 0)
        #expect(Files.mode(fixture.path(".transfer/incoming/\(id).part")).map { $0 & 0o077 } == 0)
        // The part stays when its object is released, until it is discarded.
        part = nil
        #expect(fixture.parts == ["\(id).part"])
        part = try fixture.store.resume(id: id, size: nil)
        part?.discard()
        for staged in staged { staged.discard() }
        #expect(fixture.parts.isEmpty)
    }

    /// The survey lists blocks that are complete, damaged or not, but neither holes nor an incomplete last block.
    @Test(arguments: [1, 4]) func blocksThatAreThere(threads: Int) throws {
        let fixture = try StoreFixture()
        let block = Limits.blockSize
        let staged = try fixture.store.resume(id: .random(), size: nil)
        let content = [UInt8](repeating: 7, count: block)
        let places: [UInt64] = [0, 1, 2, 30, 31, 50]
        for place in places { try put(content, at: place * UInt64(block), in: staged) }
        try put(Array(content[..<1000]), at: 60 * UInt64(block), in: staged)
        let digest = content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        let found = try blocks(of: staged, nil, threads)
        #expect(found.map(\.index) == places)
        #expect(found.allSatisfy { $0.digest == digest })
        #expect(try blocks(of: staged, 60 * UInt64(block) + 1000, threads).map(\.index) == places + [60])
        try staged.trim(to: UInt64(block) + 5)
        #expect(try blocks(of: staged, UInt64(block) + 5, threads).map(\.index) == [0, 1])
        staged.discard()
    }

    /// The client chooses the offsets and the declared size, so neither may decide how often the disk is read.
    @Test(arguments: [UInt64?.none, 100, UInt64(Limits.blockSize)]) func looksAtEachBlockOnce(total: UInt64?) throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: true, syncsAsAWhole: false), script: script)
        let staged = try fixture.store.resume(id: .random(), size: nil)
        let content = [UInt8](repeating: 7, count: 4096)
        // Alternating bytes and holes, in the first block and far behind it.
        for place in 0..<64 { try put(content, at: UInt64(place) * 16_384, in: staged) }
        for place in 0..<64 { try put(content, at: 3 * UInt64(Limits.blockSize) + UInt64(place) * 16_384, in: staged) }
        script.start()
        let found = try blocks(of: staged, total, 1)
        #expect(found.map(\.index) == [0])
        // One status, two calls for each block with bytes, and the reads of the block.
        let reads = (total.map { Int($0) } ?? Limits.blockSize) / (256 << 10) + 1
        #expect(script.count <= 1 + 2 * 2 + reads)
        staged.discard()
    }

    /// Other tasks run between two steps, so a step is short however many blocks there are.
    @Test(arguments: [1, 3]) func aSurveyReadsFewBlocksAtATime(threads: Int) throws {
        let fixture = try StoreFixture()
        let staged = try fixture.store.resume(id: .random(), size: nil)
        let count = 15
        for number in 1...count { try put([1], at: UInt64(number * Limits.blockSize - 1), in: staged) }
        var survey = try staged.survey(of: nil, .xxh128)
        var steps: [[UInt64]] = []
        while let blocks = try survey.step(threads: threads) { steps.append(blocks.map(\.index)) }
        #expect(steps.flatMap(\.self) == Array(0..<UInt64(count)))
        #expect(steps.allSatisfy { $0.count <= 4 * threads })
        #expect(try survey.step(threads: threads) == nil)
        staged.discard()
    }

    /// More blocks than one step digests; each begins with a different byte and is zero otherwise.
    @Test(arguments: [1, 4]) func everyGroupOfBlocks(threads: Int) throws {
        let fixture = try StoreFixture()
        let block = Limits.blockSize
        let staged = try fixture.store.resume(id: .random(), size: nil)
        defer { staged.discard() }
        let count = 35
        for place in 0..<count { try put([UInt8(place + 1)], at: UInt64(place * block), in: staged) }
        try put([0], at: UInt64(count * block - 1), in: staged)
        var groups: [[SurveyedBlock]] = []
        var survey = try staged.survey(of: UInt64(count * block), .xxh128)
        while let blocks = try survey.step(threads: threads) { groups.append(blocks) }
        #expect(groups.count > 2)
        let found = groups.flatMap(\.self)
        #expect(found.map(\.index) == Array(0..<UInt64(count)))
        var content = [UInt8](repeating: 0, count: block)
        for (place, found) in found.enumerated() {
            content[0] = UInt8(place + 1)
            #expect(found.digest == content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
        }
    }

    private func put(_ bytes: [UInt8], at offset: UInt64, in staged: StagedFile) throws {
        try bytes.withUnsafeBytes { try staged.write($0, at: offset) }
    }

    private func blocks(of staged: StagedFile, _ total: UInt64?, _ threads: Int) throws -> [SurveyedBlock] {
        var found: [SurveyedBlock] = []
        try staged.digestBlocks(of: total, .xxh128, threads: threads) { found += $0 }
        return found
    }

    /// Ranges of an upload are written by several connections.
    @Test(arguments: [false, true]) func severalThreadsWrite(isSizeKnown: Bool) throws {
        let fixture = try StoreFixture()
        let content = content(6 * Self.longSize)
        let publication = try fixture.publication("a", [])
        let size = UInt64(content.count)
        let staged = try fixture.store.stage(id: publication.id, size: isSizeKnown ? size : nil, permissions: nil)
        let pieces = pieces(content.count, of: 100_003)
        inParallel(on: 4, pieces.count) { number in
            #expect(throws: Never.self) { try write(content, to: staged, in: [pieces[number]]) }
        }
        let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        let outcome = fixture.publish([
            Publication(staged: staged, id: publication.id, path: publication.path, size: size, digest: digest)
        ])
        #expect(outcome == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == content)
    }

    /// Writing back starts once per step of bytes, whatever their offsets and threads are.
    @Test(arguments: [0, 1, 2]) func longOnesAreWrittenBackEarly(order: Int) throws {
        let syncs = RecordedSyncs()
        let disk = FileSystem(isMemory: false, syncsAsAWhole: true)
        let fixture = try StoreFixture(fileSystem: disk, syncs: syncs)
        let step = Int(StagedFile.writeBackStep)
        let content = [UInt8](repeating: 1, count: 3 * step + 1)
        let staged = try fixture.store.stage(id: .random(), size: UInt64(content.count), permissions: nil)
        let forward = pieces(content.count, of: step / 3)
        let pieces = order == 1 ? forward.reversed() : forward
        syncs.reset()
        if order == 2 {
            inParallel(on: 4, pieces.count) { number in
                #expect(throws: Never.self) { try write(content, to: staged, in: [pieces[number]]) }
            }
        } else {
            try write(content, to: staged, in: Array(pieces.dropLast(2)))
            #expect(syncs.all == [.start(staged.number), .start(staged.number)])
            try write(content, to: staged, in: pieces.suffix(2))
        }
        #expect(syncs.all == [RecordedSyncs.Call](repeating: .start(staged.number), count: 3))
    }

    @Test(arguments: [false, true]) func discarded(asPart: Bool) throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a/b", .one, asPart: asPart)
        publication.staged.discard()
        publication.staged.discard()
        #expect(fixture.visible.isEmpty)
        #expect(fixture.parts.isEmpty)
    }

    @Test func discardedWhenNobodyHoldsIt() throws {
        let fixture = try StoreFixture()
        do {
            _ = try fixture.publication("a", .one)
        }
        #expect(fixture.visible.isEmpty)
        #expect(fixture.parts.isEmpty)
        #expect(!Files.descriptors(below: fixture.root).contains { $0.contains("incoming/") })
    }

    /// Operators may allow sizes that no file offset can express: they lead to an error, not to a trap.
    @Test(arguments: [UInt64(Int64.max) - 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
    func sizesBeyondAnyFile(size: UInt64) throws {
        let fixture = try StoreFixture()
        let error = #expect(throws: Failure.self) {
            try fixture.store.stage(id: .random(), size: size, permissions: nil)
        }
        #expect(error.map { [.uploadTooLarge, .insufficientStorage].contains($0.code) } == true)
        #expect(fixture.parts.isEmpty)
        let staged = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
        #expect(throws: Failure.self) {
            try [UInt8].one.withUnsafeBytes { bytes in try staged.write(bytes, at: size) }
        }
    }
}
