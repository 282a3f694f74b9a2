import Glibc
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferGallery

/// The cache of thumbnails.
@Suite struct PictureCacheTests {
    /// A cache in a folder of its own, whose clock the test sets.
    private final class Fixture {
        let folder: TemporaryDirectory
        let clock = ManualClock()
        var cache: PictureCache

        init(mostBytes: Int64 = 1 << 20) throws {
            folder = try TemporaryDirectory()
            cache = try Self.open(folder, clock, mostBytes)
        }

        func reopen() throws { cache = try Self.open(folder, clock, 1 << 20) }

        private static func open(
            _ folder: TemporaryDirectory, _ clock: ManualClock, _ mostBytes: Int64
        ) throws -> PictureCache {
            let cache = PictureCache(
                path: folder.path("thumbs.sqlite"), mostBytes: mostBytes,
                clock: { clock.seconds.load(ordering: .relaxed) })
            return try #require(cache)
        }
    }

    private final class ManualClock: Sendable {
        let seconds = Atomic<Int64>(1_800_000_000)
        func pass(_ count: Int64) { seconds.add(count, ordering: .relaxed) }
    }

    private final class Room: Sendable { let isThere = Atomic(true) }

    private static func version(_ number: UInt64, touch: Int64 = 1) -> ContentVersion {
        ContentVersion(object: number, revision: 5, touch: touch, size: 100)
    }

    private static func key(_ number: UInt64) -> PictureKey { PictureKey(version(number), nil, in: nil) }

    private static func digest(_ function: DigestFunction, _ byte: UInt8) -> Digest {
        let algorithm = DigestAlgorithm.allCases.first { $0.function == function }
        return Digest(algorithm ?? .sha256, [UInt8](repeating: byte, count: function == .sha256 ? 32 : 16))
    }

    @Test func whatIsAddedIsFound() throws {
        let fixture = try Fixture()
        let report = PictureReportTests.complete
        fixture.cache.add(report, Self.key(1), .small)
        for _ in 1...2 {
            #expect(fixture.cache.thumbnail(Self.key(1), .small)?.thumbnail == report.thumbnail)
            #expect(fixture.cache.thumbnail(Self.key(1), .large) == nil)
            #expect(fixture.cache.thumbnail(Self.key(2), .small) == nil)
            let known = try #require(fixture.cache.report(Self.key(1)))
            #expect(known.summary == report.summary)
            #expect(fixture.cache.summaries([Self.key(2), Self.key(1)]) == [nil, report.summary])
            try fixture.reopen()
        }
    }

    /// Headers that are read later do not take away what decoding has found.
    @Test func headersKeepWhatDecodingFound() throws {
        let fixture = try Fixture()
        fixture.cache.add(PictureReportTests.complete, Self.key(1), .small)
        var summary = PictureReportTests.summary
        (summary.colour, summary.isDecoded) = (nil, nil)
        fixture.cache.add(PictureReport(summary: summary), Self.key(1), nil)
        let known = try #require(fixture.cache.report(Self.key(1)))
        #expect(known.summary == PictureReportTests.summary)
    }

    @Test func theKeyIsTheDigestOnlyIfItCannotBeForged() {
        let (strong, weak) = (Self.digest(.sha256, 7), Self.digest(.xxh128, 7))
        func key(_ object: UInt64, touch: Int64 = 1, _ digest: Digest?, in folder: String? = nil) -> PictureKey {
            PictureKey(
                Self.version(object, touch: touch), digest, in: folder.flatMap { try? RelativePath($0) })
        }
        #expect(key(1, strong) == key(2, touch: 9, strong))
        // A client that guesses what another folder has must not find the thumbnail ready.
        #expect(key(1, strong, in: "a") != key(1, strong, in: "b"))
        #expect(key(1, weak) != key(2, weak))
        #expect(key(1, weak) == key(1, nil))
        // Another file may have the number of a removed one, and its size and time.
        #expect(key(1, nil) != key(1, touch: 2, nil))
    }

    @Test func aRefusedPictureIsRemembered() throws {
        let fixture = try Fixture()
        fixture.cache.add(PictureReport(refusal: .damaged), Self.key(1), .small)
        fixture.clock.pass(20 * 86_400)
        try fixture.reopen()
        #expect(fixture.cache.report(Self.key(1))?.refusal == .damaged)
    }

    /// A library for it may be installed before the next server starts.
    @Test func whatNoDecoderKnowsIsTriedByTheNextServer() throws {
        let fixture = try Fixture()
        let report = PictureReport(summary: PictureReportTests.summary, refusal: .unsupported)
        fixture.cache.add(report, Self.key(1), .small)
        #expect(fixture.cache.report(Self.key(1))?.refusal == .unsupported)
        try fixture.reopen()
        let known = try #require(fixture.cache.report(Self.key(1)))
        #expect(known.refusal == nil && known.summary == report.summary)
    }

    /// A decoder that was killed is tried again the next day. What is known about the picture stays.
    @Test func aFailureCountsForADayAndASide() throws {
        let fixture = try Fixture()
        fixture.cache.add(PictureReportTests.complete, Self.key(1), .small)
        fixture.cache.add(PictureReport(refusal: .failed), Self.key(1), .large)
        #expect(fixture.cache.thumbnail(Self.key(1), .large)?.refusal == .failed)
        #expect(fixture.cache.thumbnail(Self.key(1), .small)?.thumbnail != nil)
        #expect(fixture.cache.report(Self.key(1))?.summary == PictureReportTests.summary)
        fixture.clock.pass(86_400)
        #expect(fixture.cache.thumbnail(Self.key(1), .large) == nil)
        fixture.cache.add(PictureReportTests.complete, Self.key(1), .large)
        #expect(fixture.cache.thumbnail(Self.key(1), .large)?.thumbnail == PictureReportTests.webP)
    }

    @Test func whatIsNotSeenIsForgotten() throws {
        let fixture = try Fixture()
        for number in UInt64(1)...2 { fixture.cache.add(PictureReportTests.complete, Self.key(number), .small) }
        fixture.clock.pass(PictureCache.lifetime * 86_400)
        _ = fixture.cache.thumbnail(Self.key(1), .small)
        fixture.clock.pass(86_400)
        fixture.cache.add(PictureReportTests.complete, Self.key(3), .small)
        #expect(fixture.cache.thumbnail(Self.key(1), .small) != nil)
        #expect(fixture.cache.report(Self.key(1)) != nil)
        #expect(fixture.cache.thumbnail(Self.key(2), .small) == nil)
        #expect(fixture.cache.report(Self.key(2)) == nil)
    }

    @Test func whatIsLeastUsedGoesFirst() throws {
        let size = Int64(PictureReportTests.webP.count)
        let fixture = try Fixture(mostBytes: size * 200)
        for number in 0..<200 { fixture.cache.add(PictureReportTests.complete, Self.key(UInt64(number)), .small) }
        #expect(fixture.cache.bytes == size * 200)
        fixture.clock.pass(86_400)
        for number in 0..<50 { #expect(fixture.cache.thumbnail(Self.key(UInt64(number)), .small) != nil) }
        fixture.cache.add(PictureReportTests.complete, Self.key(1000), .small)
        #expect(fixture.cache.bytes <= size * 200)
        for number in 0..<50 { #expect(fixture.cache.thumbnail(Self.key(UInt64(number)), .small) != nil) }
        #expect(fixture.cache.thumbnail(Self.key(50), .small) == nil)
        #expect(fixture.cache.thumbnail(Self.key(1000), .small) != nil)
        // What they said about themselves is still known.
        #expect(fixture.cache.report(Self.key(50)) != nil)
    }

    @Test func theSameThumbnailCountsOnce() throws {
        let fixture = try Fixture()
        for _ in 1...3 { fixture.cache.add(PictureReportTests.complete, Self.key(1), .small) }
        #expect(fixture.cache.bytes == Int64(PictureReportTests.webP.count))
    }

    /// A damaged cache is made anew, whether the damage is noticed when it is opened or later.
    @Test(arguments: [0, 4096]) func aDamagedCacheIsMadeAnew(_ offset: Int) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("thumbs.sqlite")
        try Self.fill(path)
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        let file = open(path, O_WRONLY)
        defer { close(file) }
        var status = stat()
        fstat(file, &status)
        let noise = [UInt8](repeating: 0xA5, count: max(8192, Int(status.st_size) - offset))
        pwrite(file, noise, noise.count, off_t(offset))
        let cache = try #require(PictureCache(path: path, mostBytes: 1 << 20))
        for number in 0..<500 { _ = cache.thumbnail(Self.key(UInt64(number)), .small) }
        cache.add(PictureReportTests.complete, Self.key(7), .small)
        #expect(cache.thumbnail(Self.key(7), .small)?.thumbnail == PictureReportTests.webP)
    }

    /// Makes a cache with 500 thumbnails, and closes it.
    private static func fill(_ path: String) throws {
        let cache = try #require(PictureCache(path: path, mostBytes: 1 << 20))
        for number in 0..<500 { cache.add(PictureReportTests.complete, key(UInt64(number)), .small) }
    }

    @Test func aFullDiskKeepsNothing() throws {
        let folder = try TemporaryDirectory()
        let hasRoom = Room()
        let made = PictureCache(
            path: folder.path("thumbs.sqlite"), mostBytes: 1 << 20,
            hasRoom: { hasRoom.isThere.load(ordering: .relaxed) })
        let cache = try #require(made)
        cache.add(PictureReportTests.complete, Self.key(1), .small)
        hasRoom.isThere.store(false, ordering: .relaxed)
        cache.add(PictureReportTests.complete, Self.key(2), .small)
        #expect(cache.thumbnail(Self.key(1), .small) != nil)
        #expect(cache.thumbnail(Self.key(2), .small) == nil)
    }

    @Test func aServerWhosePicturesAreNotLookedAtHasNoCache() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("thumbs.sqlite")
        #expect(PictureCache(path: path, mostBytes: 1, makes: false) == nil)
        #expect(access(path, F_OK) != 0)
    }
}
