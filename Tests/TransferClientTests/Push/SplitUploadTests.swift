import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct SplitUploadTests {
    private static func split(size: UInt64) -> SplitUpload {
        var status = stat()
        status.st_size = off_t(clamping: size)
        return SplitUpload(
            PendingUpload(.bytes([]), label: "big", destination: "big", kind: .file),
            .file(SourceFile.Identity(status), SourcePlace(named: "big", followsLink: true)), function: .xxh128)
    }

    private static func ranges(of split: SplitUpload, _ sharing: PartSharing = PartSharing()) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        while case .part(_, let range)? = split.nextPart(sharing)?.content { ranges.append(range) }
        return ranges
    }

    /// Parts cover each byte once, consist of whole blocks, never grow, and are short at the end.
    @Test(arguments: [-1, 0, 1, 2, 3, 4, 8, 31, 32, .max])
    func partsForAnyNumberOfLanes(_ lanes: Int) {
        let block = UInt64(Limits.blockSize)
        for blocks in 2...70 as ClosedRange<UInt64> {
            for size in [blocks * block - 1, blocks * block, blocks * block + 1] {
                let ranges = Self.ranges(of: Self.split(size: size), PartSharing(lanes: lanes))
                #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == size)
                for (range, next) in zip(ranges, ranges.dropFirst()) {
                    #expect(range.upperBound == next.lowerBound && next.lowerBound % block == 0)
                    #expect(range.count >= next.count && range.count <= 4 * Limits.blockSize)
                    let isShort = range.count == Limits.blockSize
                    let left = size - range.lowerBound
                    #expect(lanes < 2 || isShort || UInt64(2 * range.count) <= left / UInt64(lanes))
                }
            }
        }
    }

    /// Pieces become shorter towards the end; none spans two blocks or is too short to be worth a lane.
    @Test(arguments: [2, 3, 8, 32]) func piecesForSlowLanes(_ lanes: Int) {
        let (block, piece) = (UInt64(Limits.blockSize), UInt64(Limits.pieceSize))
        for size in [1_500_000, block - 1, block, block + 1, 9 * block, 15 * block - 3, 200 * block + 7] {
            let ranges = Self.ranges(of: Self.split(size: size), PartSharing(lanes: lanes, inPieces: true))
            #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == size)
            for (range, next) in zip(ranges, ranges.dropFirst()) {
                #expect(range.upperBound == next.lowerBound && next.lowerBound % piece == 0)
                let isWhole = range.lowerBound % block == 0 && range.upperBound % block == 0
                #expect(isWhole || range.lowerBound / block == (range.upperBound - 1) / block, "\(size): \(range)")
                let endsBlock = range.upperBound % block == 0
                let share = (size - range.lowerBound) / UInt64(2 * lanes)
                #expect(endsBlock || range.count >= 2 * Limits.pieceSize, "\(size): \(range)")
                #expect(range.count <= max(2 * piece, share), "\(size): \(range)")
            }
        }
    }

    /// Lanes come and go in the middle of blocks: each part consists of whole blocks or is a piece of one block.
    @Test(arguments: 0..<20 as Range<UInt64>) func sharedInAnyWay(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let (block, piece) = (UInt64(Limits.blockSize), UInt64(Limits.pieceSize))
        let size = UInt64.random(in: 1...40 * block, using: &generator)
        let split = Self.split(size: size)
        var end: UInt64 = 0
        while true {
            let sharing = PartSharing(
                lanes: [1, 2, 5, 32].randomElement(using: &generator) ?? 1, inPieces: .random(using: &generator))
            guard case .part(_, let range)? = split.nextPart(sharing)?.content else { break }
            #expect(range.lowerBound == end && range.lowerBound % piece == 0)
            end = range.upperBound
            #expect(end == size || end % piece == 0)
            let isWhole = range.lowerBound % block == 0 && (end == size || end % block == 0)
            #expect(isWhole || range.lowerBound / block == (end - 1) / block, "\(range) of \(size)")
        }
        #expect(end == size)
    }

    /// The digest of a block that is sent in pieces is computed from the block, in whichever order the pieces are read;
    /// digests of pieces do not count.
    @Test(arguments: [DigestFunction.xxh128, .sha256]) func piecesOfBlocks(_ function: DigestFunction) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("long")
        let content = SplitMix64.bytes(seed: 4, 2 * Limits.blockSize + 100_000)
        try Files.write(path, content)
        let whole = PendingUpload(.bytes([]), label: "long", destination: "long", kind: .file)
        let file = try SourceFile(SourcePlace(named: path, followsLink: true)).identity
        let split = SplitUpload(whole, .file(file, SourcePlace(named: path, followsLink: true)), function: function)
        let ranges = Self.ranges(of: split, PartSharing(lanes: 8, inPieces: true))
        #expect(ranges.count > 8)
        for range in ranges.reversed() {
            let bytes = Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
            try split.keep(bytes.withUnsafeBytes { BlockHasher.digest(function, $0) }, of: range)
            _ = split.staged(PendingUpload(.part(split, range), of: whole))
        }
        #expect(split.end != nil)
        #expect(split.digest == content.withUnsafeBytes { ContentDigester.digest(function, $0) })
        // The file has changed by the time that the last piece of a block was read.
        try Files.write(path, Array(content.dropLast()))
        let last = try #require(ranges.first { $0.upperBound == UInt64(Limits.blockSize) })
        #expect(last.lowerBound > 0)
        #expect(throws: Failure.self) { try split.keep([], of: last) }
    }

    @Test func shorterFilesAreSharedWhereLanesAreSlow() {
        let fast = PartSharing(lanes: 32, inPieces: true)
        let slow = PartSharing(lanes: 32, inPieces: true, sharesShorter: true)
        #expect(slow.splits(fileOf: 1_500_000) && !slow.splits(fileOf: 500_000))
        #expect(!fast.splits(fileOf: 1_500_000) && fast.splits(fileOf: 8 << 20))
        #expect(!PartSharing(lanes: 32, sharesShorter: true).splits(fileOf: 1_500_000))
    }

    /// Where each part becomes an object, only the last part is shorter.
    @Test(arguments: [1, 4, 32]) func partsThatBecomeObjects(lanes: Int) {
        let ranges = Self.ranges(of: Self.split(size: 60_000_000), PartSharing(lanes: lanes, inObjects: true))
        #expect(ranges.map(\.count) == [16 << 20, 16 << 20, 16 << 20, 60_000_000 - 48 << 20])
    }

    /// If more lanes come, the rest of the file is divided into shorter parts.
    @Test func partsFollowTheLanes() {
        let split = Self.split(size: 60_000_000)
        guard case .part(_, let first)? = split.nextPart(PartSharing())?.content else { return #expect(Bool(false)) }
        #expect(first == 0..<16 << 20)
        let ranges = Self.ranges(of: split, PartSharing(lanes: 32))
        #expect(ranges.first?.lowerBound == 16 << 20 && ranges.last?.upperBound == 60_000_000)
        #expect(ranges.count == 11)
    }

    /// A sparse file may have the largest size that there is. Blocks that have not been read take no memory.
    @Test(arguments: [PartSharing.usualSmallestFile, 1 << 40, (1 << 50) + 1, Limits.uploadSize] as [UInt64])
    func partsCoverAFileOfAnySize(_ size: UInt64) {
        let ranges = Self.ranges(of: Self.split(size: size))
        #expect(ranges.count <= 65_536)
        #expect(ranges.first?.lowerBound == 0)
        #expect(ranges.last?.upperBound == size)
        for (range, next) in zip(ranges, ranges.dropFirst()) { #expect(range.upperBound == next.lowerBound) }
    }

    /// The server reports the progress of a part, so any number must be handled.
    @Test func progressBeyondAnyNumber() {
        let split = Self.split(size: PartSharing.usualSmallestFile)
        #expect(split.progressed(.random(), 5) == 5)
        for _ in 0..<3 { #expect(split.progressed(.random(), .max) == .max) }
    }

    /// Blocks that the server has with the same digest are not sent. Blocks with another digest and missing blocks are
    /// sent.
    @Test func onlyWhatDiffersIsSent() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("long")
        let block = Limits.blockSize
        let content = (0..<9 * block + 1000).map { UInt8(truncatingIfNeeded: $0 / 4099) }
        try Files.write(path, content)
        let whole = PendingUpload(.bytes([]), label: "long", destination: "long", kind: .file)
        let file = try SourceFile(SourcePlace(named: path, followsLink: true)).identity
        let split = SplitUpload(whole, .file(file, SourcePlace(named: path, followsLink: true)), function: .xxh128)
        let digests = stride(from: 0, to: content.count, by: block).map { start in
            Digest(
                .xxh128,
                content[start..<min(content.count, start + block)].withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
        }
        let wrong = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        let id = whole.id
        #expect(try split.compare(Have(id: id, first: 1, digests: [digests[1], wrong])) == UInt64(2 * block))
        #expect(try split.compare(Have(id: id, first: 9, digests: [digests[9], wrong, wrong])) > 0)
        #expect(try split.compare(Have(id: id, first: .max - 1, digests: [wrong])) > 0)
        // A repeated answer has no further effect.
        _ = try split.compare(Have(id: id, first: 1, digests: [digests[1]]))
        let ranges = Self.ranges(of: split)
        #expect(
            ranges == [0..<UInt64(block), UInt64(2 * block)..<UInt64(6 * block), UInt64(6 * block)..<UInt64(9 * block)])
        #expect(split.end == nil)
        for range in ranges {
            let blocks = Int(range.lowerBound) / block..<Int(range.upperBound) / block
            try split.keep(blocks.flatMap { digests[$0].bytes }, of: range)
            _ = split.staged(PendingUpload(.part(split, range), of: whole))
        }
        #expect(split.end != nil)
        #expect(split.digest == BlockTree.root(digests.flatMap { $0.bytes }, .xxh128))
        // When the server is asked again, the digests are known without reading the file.
        try Files.write(path, [1])
        split.restart()
        _ = try split.compare(Have(id: id, first: 0, digests: digests))
        #expect(split.end != nil)
    }

    /// The lanes finish their parts in any order, and some parts twice.
    @Test func digestsCountInTheOrderOfTheFile() throws {
        let split = Self.split(size: 100 << 20)
        let ranges = Self.ranges(of: split)
        let digests = ranges.indices.map { index in
            [UInt8](repeating: UInt8(index), count: ranges[index].count / Limits.blockSize * DigestFunction.xxh128.size)
        }
        try split.keep([UInt8](repeating: 9, count: digests[1].count), of: ranges[1])
        for index in ranges.indices.reversed() { try split.keep(digests[index], of: ranges[index]) }
        #expect(ranges.count > 2)
        #expect(split.digest == BlockTree.root(digests.flatMap { $0 }, .xxh128))
    }
}
