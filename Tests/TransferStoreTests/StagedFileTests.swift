import Glibc
import Synchronization
import TransferCodec
import TransferProtocol
import TransferSystem
import TransferTestSupport
import Testing

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

    @Test func smallOnesHaveNoNameUntilPublished() throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a", .one)
        #expect(fixture.parts.isEmpty)
        #expect(fixture.visible.isEmpty)
        #expect(fixture.publish([publication]) == [.success(try .committed("a"))])
    }

    /// Older kernels do not let everybody link by descriptor.
    @Test(arguments: [true, false]) func eitherWayOfLinking(byDescriptor: Bool) throws {
        let fixture = try StoreFixture()
        let links = { fixture.store.incoming.linksByDescriptor.load(ordering: .relaxed) }
        fixture.store.incoming.linksByDescriptor.store(byDescriptor, ordering: .relaxed)
        #expect(try fixture.publish("a", .one) == .committed("a"))
        #expect(try fixture.publish("a", .one) == .alreadyStored("a"))
        #expect(try fixture.publish("a", .two, .overwrite) == .committed("a"))
        #expect(Files.read(fixture.path("a")) == .two)
        #expect(fixture.parts.isEmpty)
        // A directory that somebody removed says the same as a kernel that refuses, and proves nothing.
        let before = links()
        let publication = try fixture.publication("b", .one)
        try Files.makeDirectory(fixture.path("gone"))
        let directory = try fixture.store.tree.open(try RelativePath("gone"))
        rmdir(fixture.path("gone"))
        #expect(throws: SystemError(errno: ENOENT, call: "linkat")) {
            try publication.staged.publish(into: directory, as: "b")
        }
        #expect(links() == before)
        #expect(fixture.publish([publication]) == [.success(try .committed("b"))])
    }

    /// As many bytes as a block are still small, one more is not.
    @Test func largeAndUnknownOnesArePartsAndReserveTheirSpace() throws {
        let fixture = try StoreFixture()
        let limit = UInt64(Limits.blockSize)
        let ids = (0..<3).map { _ in UploadID.random() }
        let small = try fixture.store.stage(id: ids[0], size: limit, permissions: nil)
        #expect(fixture.parts.isEmpty)
        let large = try fixture.store.stage(id: ids[1], size: limit + 1, permissions: nil)
        #expect(fixture.parts == ["\(ids[1])-0.part"])
        #expect(Files.status(fixture.path(".transfer/incoming/\(ids[1])-0.part"))?.st_size == 0)
        let unknown = try fixture.store.stage(id: ids[2], size: nil, permissions: nil)
        #expect(fixture.parts == ["\(ids[1])-0.part", "\(ids[2])-0.part"])
        #expect(Files.mode(fixture.path(".transfer/incoming/\(ids[2])-0.part")).map { $0 & 0o077 } == 0)
        for staged in [small, large, unknown] { staged.discard() }
        #expect(fixture.parts.isEmpty)
    }

    /// A connection that died and the one that replaced it, both at work on one upload.
    @Test func twoPartsOfOneUploadDoNotMeet() throws {
        let fixture = try StoreFixture()
        let id = UploadID.random()
        let old = try fixture.store.stage(id: id, size: nil, permissions: nil)
        let new = try fixture.store.stage(id: id, size: nil, permissions: nil)
        #expect(fixture.parts == ["\(id)-0.part", "\(id)-1.part"])
        try write(.one, to: old, in: [0..<3])
        try write(.two, to: new, in: [0..<3])
        let digest = [UInt8].two.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        old.discard()
        #expect(fixture.parts == ["\(id)-1.part"])
        let outcome = fixture.publish([
            Publication(staged: new, id: id, path: try RelativePath("a"), size: 3, digest: digest)
        ])
        #expect(outcome == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == .two)
    }

    /// Parts of an upload come over several connections.
    @Test(arguments: [false, true]) func severalThreadsWrite(isSizeKnown: Bool) throws {
        let fixture = try StoreFixture()
        let content = content(6 * Self.longSize)
        let publication = try fixture.publication("a", [])
        let size = UInt64(content.count)
        let staged = try fixture.store.stage(id: publication.id, size: isSizeKnown ? size : nil, permissions: nil)
        let pieces = pieces(content.count, of: 100_003)
        inCrowd(of: 4, pieces.count) { number in
            #expect(throws: Never.self) { try write(content, to: staged, in: [pieces[number]]) }
        }
        let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        let outcome = fixture.publish([
            Publication(staged: staged, id: publication.id, path: publication.path, size: size, digest: digest)
        ])
        #expect(outcome == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == content)
    }

    /// Once for every step's worth of bytes, wherever they are and whoever writes them.
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
            inCrowd(of: 4, pieces.count) { number in
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

    @Test(arguments: [false, true]) func discardedWhenNobodyHoldsIt(asPart: Bool) throws {
        let fixture = try StoreFixture()
        do {
            _ = try fixture.publication("a", .one, asPart: asPart)
        }
        #expect(fixture.visible.isEmpty)
        #expect(fixture.parts.isEmpty)
        #expect(!Files.descriptors(below: fixture.root).contains { $0.contains("incoming/") })
    }

    /// Sizes that a file offset cannot express come from operators that allow them; they are an error, not a trap.
    @Test(arguments: [UInt64(Int64.max) - 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
    func sizesBeyondAnyFile(size: UInt64) throws {
        let fixture = try StoreFixture()
        let error = #expect(throws: StoreError.self) {
            try fixture.store.stage(id: .random(), size: size, permissions: nil)
        }
        #expect(error.map { [.uploadTooLarge, .insufficientStorage].contains($0.code) } == true)
        #expect(fixture.parts.isEmpty)
        let staged = try fixture.store.stage(id: .random(), size: nil, permissions: nil)
        #expect(throws: StoreError.self) {
            try [UInt8].one.withUnsafeBytes { bytes in try staged.write(bytes, at: size) }
        }
    }
}
