import Testing
import TransferClusterModel
import TransferModel
import TransferObjects
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferCluster

/// What objects say about their content.
@Suite struct FooterTests {
    // MARK: Encoding

    @Test("A footer is read as it was written", arguments: 1...UInt64(40))
    func roundTrip(_ seed: UInt64) throws {
        var samples = FooterSamples(seed: seed)
        let footer = samples.footer()
        let encoded = try footer.encoded()
        #expect(ObjectFooter(encoded: encoded, content: FooterSamples.content) == footer)
        #expect(ObjectFooter.bodySize(encoded) == encoded.count - ObjectFooter.trailerSize)
    }

    @Test("A footer with a wrong byte, or without some bytes, is none", arguments: 1...UInt64(6))
    func damage(_ seed: UInt64) throws {
        var samples = FooterSamples(seed: seed)
        let encoded = try samples.footer().encoded()
        for index in encoded.indices {
            var damaged = encoded
            damaged[index] ^= 1 << UInt8(index % 8)
            #expect(ObjectFooter(encoded: damaged, content: FooterSamples.content) == nil)
        }
        for count in 0..<encoded.count {
            #expect(ObjectFooter(encoded: encoded.suffix(count), content: FooterSamples.content) == nil)
            #expect(ObjectFooter(encoded: encoded.prefix(count), content: FooterSamples.content) == nil)
        }
    }

    /// Bodies that no server writes, with the right digest: they are refused, or read as a footer that is sound.
    @Test("Any body is refused or sound", arguments: 1...UInt64(20))
    func anyBody(_ seed: UInt64) throws {
        var samples = FooterSamples(seed: seed)
        let body = try samples.footer().encoded().dropLast(ObjectFooter.trailerSize)
        for _ in 0..<300 {
            let sealed = try ObjectFooter.sealed(samples.changed(Array(body)))
            guard let footer = ObjectFooter(encoded: sealed, content: FooterSamples.content) else { continue }
            #expect(try ObjectFooter(encoded: footer.encoded(), content: FooterSamples.content) == footer)
            for file in footer.files {
                for extent in file.extents where extent.object == .none {
                    #expect(extent.start + extent.count <= FooterSamples.content)
                }
                #expect(file.extents.allSatisfy { $0.range.upperBound <= file.size && !$0.range.isEmpty })
            }
        }
    }

    @Test("Content is not behind the end of the object")
    func bounds() throws {
        var footer = ObjectFooter()
        let file = DescribedFile(
            id: .random(), path: "a", size: 10, digest: sampleDigest(), [Extent(0..<10, in: .none, from: 0)])
        footer.files = [file]
        #expect(ObjectFooter(encoded: try footer.encoded(), content: 10) == footer)
        #expect(ObjectFooter(encoded: try footer.encoded(), content: 9) == nil)
        footer = ObjectFooter()
        footer.moved = [ObjectFooter.Moved(object(1), from: 3, to: 4..<10)]
        #expect(ObjectFooter(encoded: try footer.encoded(), content: 10) == footer)
        #expect(ObjectFooter(encoded: try footer.encoded(), content: 9) == nil)
    }

    // MARK: In the bucket

    private let medium = ClusterMedium()

    private func footers() throws -> [(footer: ObjectFooter, content: UInt64)] {
        try medium.bucket.contents.sorted { $0.key < $1.key }.map { key, bytes in
            try #require(try ObjectFooter.read(key, size: UInt64(bytes.count), in: medium.bucket))
        }
    }

    @Test("A pack describes its files")
    func pack() throws {
        let node = try Node(medium)
        var publications = try [node.publication("d/a", [1, 2, 3], .overwrite), node.publication("d/é", [])]
        publications[0].origin = UploadOrigin(.picture, sender: "s", client: .max, run: 7)
        publications[0].modified = Timestamp(seconds: -5, nanoseconds: 7)
        (publications[0].permissions, publications[0].keepsPermissions) = (0o777, true)
        publications[0].attributes = ExtraAttributes(owner: .init(user: 1, group: 2))
        try node.publish(publications)
        let (footer, content) = try #require(try footers().first)
        #expect(content == 3 && footer.segment == nil && medium.bucket.contents.count == 1)
        let moment = try #require(medium.database.contents.nodes.values.first { $0.file != nil }?.touch)
        var empty = DescribedFile(publications[1], at: moment, [])
        empty.extents = []
        #expect(
            footer.files == [
                DescribedFile(publications[0], at: moment, [Extent(0..<3, in: .none, from: 0)]), empty,
            ])
        #expect(medium.database.check() == [])
    }

    @Test("A long file is described behind its last bytes, without one more object")
    func long() throws {
        let node = try Node(medium)
        let size = Int(ClusterStaged.segment) + Limits.blockSize
        let id = UploadID.random()
        try node.put("a", [UInt8](repeating: 7, count: size), id: id)
        let found = try footers()
        #expect(found.count == 2 && found[0].footer.segment == ObjectFooter.Segment(of: id, at: 0))
        let file = try #require(found[1].footer.files.first)
        #expect(file.extents.map(\.range) == [0..<ClusterStaged.segment, ClusterStaged.segment..<UInt64(size)])
        #expect(file.extents[1].object == .none && file.id == id)
        let content = try node.content("a")
        #expect(content?.count == size && medium.database.check() == [])
    }

    /// A file whose segments are complete needs one small object more, which stays as long as the file.
    @Test("A description without bytes stays as long as its file")
    func description() throws {
        let node = try Node(medium)
        try node.put("a", [UInt8](repeating: 7, count: Int(ClusterStaged.segment)))
        let found = try footers()
        #expect(found.map(\.content) == [ClusterStaged.segment, 0] && found[1].footer.files.count == 1)
        for _ in 0..<2 { _ = try Sweeper(medium.bucket, medium.ledger()).sweep(epochAge: -1, readerTime: -1) }
        #expect(medium.bucket.contents.count == 2 && medium.database.check() == [])
        try medium.remove(try RelativePath("a"))
        _ = try Sweeper(medium.bucket, medium.ledger()).sweep(epochAge: -1, readerTime: -1)
        #expect(medium.bucket.contents.isEmpty && medium.database.check() == [])
    }

    /// What a footer costs: one percent of files of 16 KiB, and not one object more.
    @Test("Footers are small")
    func cost() throws {
        let node = try Node(medium)
        let names = (0..<200).map { "photos/2026/07/IMG_\(1000 + $0).jpg" }
        var publications = try names.map { name in
            var content = [UInt8](repeating: 0, count: 16 << 10)
            for index in 0..<64 { content[index] = .random(in: .min ... .max) }
            return try node.publication(name, content)
        }
        for index in publications.indices {
            publications[index].origin = UploadOrigin(sender: "[2001:db8::1]:50000", client: 5, run: 6)
            publications[index].modified = Timestamp(seconds: 1_700_000_000 + Int64(index), nanoseconds: 123_456_789)
            publications[index].permissions = 0o644
        }
        try node.publish(publications)
        let stored = medium.bucket.contents.values.reduce(0) { $0 + $1.count }
        #expect(medium.bucket.contents.count == 1)
        #expect(Double(stored) <= 1.01 * Double(200 * 16 << 10), "\(stored - 200 * 16 << 10) bytes of footer")
        #expect(stored - 200 << 14 <= 200 * 70)
    }

    @Test("An object without a footer is read, and has none")
    func older() throws {
        let key = try #require(ObjectKey("e/k/1"))
        for bytes in [[], [1, 2, 3], [UInt8](repeating: 0, count: 40_000)] {
            try medium.bucket.put(key, try ObjectContent([bytes]))
            #expect(try ObjectFooter.read(key, size: UInt64(bytes.count), in: medium.bucket) == nil)
        }
    }

    @Test("A footer that is longer than the first read is read whole")
    func longFooter() throws {
        var footer = ObjectFooter()
        footer.files = (0..<1000).map { number in
            DescribedFile(id: .random(), path: "folder/\(number)", size: 0, digest: sampleDigest(number), [])
        }
        let key = try #require(ObjectKey("e/k/1"))
        let bytes = [5, 6] + (try footer.encoded())
        try medium.bucket.put(key, try ObjectContent([bytes]))
        let found = try ObjectFooter.read(key, size: UInt64(bytes.count), in: medium.bucket)
        #expect(found?.footer == footer && found?.content == 2 && bytes.count > 16 << 10)
    }
}

/// Random footers, decided by a seed.
struct FooterSamples {
    /// Bytes in front of the footers.
    static let content: UInt64 = 1 << 43

    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func number(_ bits: Int) -> UInt64 {
        let most = UInt64.random(in: 1...UInt64(bits), using: &random)
        return UInt64.random(in: 0..<1 << most, using: &random)
    }

    private mutating func happens() -> Bool { .random(using: &random) }

    mutating func footer() -> ObjectFooter {
        var footer = ObjectFooter()
        if happens() { footer.segment = ObjectFooter.Segment(of: .random(using: &random), at: number(62)) }
        var end: UInt64 = 0
        for _ in 0..<number(3) { footer.files.append(file(&end)) }
        for _ in 0..<number(2) {
            let start = number(39)
            let moved = ObjectFooter.Moved(
                ObjectNumber(rawValue: 1 + number(61)), from: number(62), to: start..<start + 1 + number(38))
            footer.moved.append(moved)
        }
        return footer
    }

    private mutating func file(_ end: inout UInt64) -> DescribedFile {
        let path = ["a", "photos/1", "photos/é", "photos/e\u{301}", "z/y/x/w"].randomElement(using: &random) ?? ""
        let size = number(38)
        var extents: [Extent] = []
        if happens(), size > 0 {
            extents = [Extent(0..<size, in: .none, from: end)]
            end += size
        } else {
            var place = number(10)
            while place < size, extents.count < 5 {
                let count = 1 + number(38)
                let object = happens() ? ObjectNumber.none : ObjectNumber(rawValue: number(62))
                let range = place..<min(size, place + count)
                extents.append(Extent(range, in: object, from: object == .none ? number(38) : number(61)))
                place = range.upperBound + number(5)
            }
            for extent in extents where extent.object == .none { end = max(end, extent.start + extent.count) }
        }
        let algorithm = DigestAlgorithm.allCases.randomElement(using: &random) ?? .xxh128
        var file = DescribedFile(
            id: .random(using: &random), path: path, size: size, digest: sampleDigest(number(60), algorithm), extents)
        file.conflict = ConflictPolicy.allCases.randomElement(using: &random) ?? .fail
        let kind = ContentKind.allCases.randomElement(using: &random) ?? .file
        file.origin = UploadOrigin(
            kind, sender: happens() ? "é" : "", client: happens() ? random.next() : nil,
            run: happens() ? random.next() : nil)
        file.moment = Int64(bitPattern: random.next())
        if happens() { file.modified = Timestamp(seconds: Int64(bitPattern: random.next()), nanoseconds: 999_999_999) }
        if happens() { file.permissions = UInt16(number(9)) }
        file.keepsPermissions = happens()
        if happens() {
            file.attributes = ExtraAttributes(
                owner: .init(user: 1, group: .max), extended: [.init(name: Array("user.a".utf8), value: [0, 1])])
        }
        return file
    }

    /// The bytes with some of them changed, removed or added.
    mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
        var changed = bytes
        for _ in 0...number(2) {
            let index = changed.indices.randomElement(using: &random) ?? 0
            switch number(2) {
            case 0: changed.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
            case 1: if !changed.isEmpty { changed.remove(at: index) }
            default: if !changed.isEmpty { changed[index] = UInt8(truncatingIfNeeded: random.next()) }
            }
        }
        return changed
    }
}
