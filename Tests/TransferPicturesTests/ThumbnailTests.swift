import Testing
import TransferModel

@testable import TransferPictures

/// Whole thumbnails: orientation, colour, metadata, limits.
@Suite struct ThumbnailTests {
    /// Red, green, blue and white quarters as each orientation shows them, from the upper left to the lower right.
    private static let shown: [Orientation: String] = [
        .upright: "rgbw", .mirrored: "grwb", .upsideDown: "wbgr", .flipped: "bwrg",
        .transposed: "rbgw", .right: "brwg", .transversed: "wgbr", .left: "gwrb",
    ]

    @Test(arguments: Orientation.allCases) func everyOrientationIsApplied(_ orientation: Orientation) throws {
        let exif = PictureMaker.exif(orientation: Int(orientation.rawValue))
        let raster = PictureMaker.quarters(80, 48)
        for file in [
            PictureMaker.jpeg(raster, segments: PictureMaker.exifSegment(exif)),
            PictureMaker.png(raster, chunks: PictureMaker.pngChunk("eXIf", exif)),
            PictureMaker.webP(raster, chunks: [("EXIF", exif)]),
        ] {
            let thumbnail = try Thumbnail.make(file, side: 40)
            #expect((thumbnail.width, thumbnail.height) == (orientation.isTransposed ? (24, 40) : (40, 24)))
            let pixels = try #require(PictureMaker.pixels(webP: thumbnail.webP))
            #expect((pixels.width, pixels.height) == (thumbnail.width, thumbnail.height))
            #expect(pixels.quarters == Self.shown[orientation])
        }
    }

    /// Golden pixels of a picture of 3 x 2, whose pixels are numbered in rows.
    @Test(arguments: [
        (Orientation.upright, [0, 1, 2, 3, 4, 5]), (.mirrored, [2, 1, 0, 5, 4, 3]), (.upsideDown, [5, 4, 3, 2, 1, 0]),
        (.flipped, [3, 4, 5, 0, 1, 2]), (.transposed, [0, 3, 1, 4, 2, 5]), (.right, [3, 0, 4, 1, 5, 2]),
        (.transversed, [5, 2, 4, 1, 3, 0]), (.left, [2, 5, 1, 4, 0, 3]),
    ])
    func pixelsMove(_ orientation: Orientation, _ expected: [UInt8]) {
        var raster = Raster(width: 3, height: 2)
        for index in 0..<6 { raster.pixels[index] = Pixel(UInt8(index), 0, 0, 255) }
        #expect(orientation.applied(to: raster).pixels.map(\.x) == expected)
    }

    /// Applying two orientations is applying their combination.
    @Test(arguments: Orientation.allCases, Orientation.allCases)
    func orientationsCombine(_ first: Orientation, _ second: Orientation) {
        let raster = PictureMaker.gradient(5, 3)
        let both = first.followed(by: second)
        #expect(both.applied(to: raster) == second.applied(to: first.applied(to: raster)))
    }

    @Test func inkBecomesLight() throws {
        // Inverted ink, as Adobe's programs store it: cyan, black by key, and white.
        var raster = Raster(width: 48, height: 16)
        let colours = [Pixel(0, 255, 255, 255), Pixel(255, 255, 255, 0), Pixel(255, 255, 255, 255)]
        for index in raster.pixels.indices { raster.pixels[index] = colours[index % 48 / 16] }
        let thumbnail = try Thumbnail.make(PictureMaker.jpeg(raster, isCMYK: true))
        let pixels = try #require(PictureMaker.pixels(webP: thumbnail.webP))
        for (x, colour) in [(8, Pixel(0, 255, 255, 255)), (24, Pixel(0, 0, 0, 255)), (40, Pixel(repeating: 255))] {
            let pixel = pixels.pixels[8 * 48 + x]
            for channel in 0..<4 { #expect(abs(Int(pixel[channel]) - Int(colour[channel])) < 24, "\(pixel)") }
        }
    }

    @Test func rgbProfilesStayAndAllElseGoes() throws {
        let raster = PictureMaker.gradient(50, 40)
        let exif = PictureMaker.exif(make: "SECRET", model: "SECRET", hasLocation: true)
        let profile = PictureMaker.profile()
        let comment = PictureMaker.segment(0xFE, Array("SECRET".utf8))
        let file = PictureMaker.jpeg(
            raster, segments: PictureMaker.exifSegment(exif) + comment + PictureMaker.profileSegments(profile))
        let thumbnail = try Thumbnail.make(file)
        #expect(try PictureFacts.read(thumbnail.webP).icc == profile)
        let names = thumbnail.webP.withUnsafeBytes { bytes in
            var (names, offset): ([String], Int) = ([], 12)
            while let chunk = RIFFChunk(MemorySource(bytes), at: offset, end: bytes.count) {
                names.append(chunk.name)
                offset = chunk.next
            }
            return names
        }
        #expect(names == ["VP8X", "ICCP", "VP8 "])
        #expect(!Window(thumbnail.webP).contains("SECRET"))
        #expect(PictureMaker.pixels(webP: thumbnail.webP)?.width == 50)
        for other in [PictureMaker.profile(space: "CMYK"), PictureMaker.profile(count: 100), [1, 2, 3]] {
            let plain = try Thumbnail.make(PictureMaker.jpeg(raster, segments: PictureMaker.profileSegments(other)))
            #expect(try PictureFacts.read(plain.webP).icc == nil)
        }
    }

    @Test func theProfileOfAPNGStays() throws {
        let profile = PictureMaker.profile()
        let chunk = PictureMaker.pngChunk("iCCP", Array("P3".utf8) + [0, 0] + PictureMaker.zlib(profile))
        let thumbnail = try Thumbnail.make(PictureMaker.png(PictureMaker.gradient(50, 40), chunks: chunk))
        #expect(try PictureFacts.read(thumbnail.webP).icc == profile)
    }

    /// Alpha and a profile of an odd length at once.
    @Test func transparencyStays() throws {
        let raster = PictureMaker.gradient(64, 64, hasAlpha: true)
        let profile = PictureMaker.profile(count: 537)
        for chunks in [[], [("ICCP", profile)]] {
            let thumbnail = try Thumbnail.make(PictureMaker.webP(raster, chunks: chunks), side: 32)
            let pixels = try #require(PictureMaker.pixels(webP: thumbnail.webP))
            #expect(pixels.pixels[0].w < 16 && pixels.pixels[32 * 32 - 1].w > 240)
            #expect(try PictureFacts.read(thumbnail.webP).icc == (chunks.isEmpty ? nil : profile))
        }
        let png = try Thumbnail.make(PictureMaker.png(raster), side: 32)
        let pixels = try #require(PictureMaker.pixels(webP: png.webP))
        #expect(pixels.pixels[0].w < 16 && pixels.pixels[32 * 32 - 1].w > 240)
    }

    @Test func theFirstFrameIsPlacedOnItsCanvas() throws {
        let frame = PictureMaker.quarters(20, 10)
        let file = PictureMaker.animation(frame, canvas: (80, 60), left: 40, top: 30)
        let thumbnail = try Thumbnail.make(file, side: 40)
        let pixels = try #require(PictureMaker.pixels(webP: thumbnail.webP))
        #expect((pixels.width, pixels.height) == (40, 30))
        #expect(pixels.pixels[5 * 40 + 5].w == 0 && pixels.pixels[16 * 40 + 22].w == 255)
        let outside = PictureMaker.animation(frame, canvas: (30, 20), left: 20, top: 10)
        #expect(throws: PictureFault.self) { try Thumbnail.make(outside) }
    }

    @Test func smallPicturesKeepTheirSize() throws {
        let thumbnail = try Thumbnail.make(PictureMaker.jpeg(PictureMaker.gradient(20, 10)), side: 320)
        #expect((thumbnail.width, thumbnail.height) == (20, 10))
        let line = try Thumbnail.make(PictureMaker.png(PictureMaker.gradient(3000, 1)), side: 100)
        #expect((line.width, line.height) == (100, 1))
    }

    /// Pictures, videos and maps behind the first image are not looked at.
    @Test func bytesBehindTheFirstImageAreLeftAlone() throws {
        let file = PictureMaker.jpeg(PictureMaker.quarters(64, 64))
        let other = PictureMaker.jpeg(PictureMaker.gradient(64, 64))
        let (first, both) = (try Thumbnail.make(file), try Thumbnail.make(file + other + [1, 2, 3]))
        #expect(first.webP == both.webP && both.isWhole == true)
        (file + other).withUnsafeBytes { bytes in
            #expect(JPEGScans(bytes, from: 2).end == file.count)
            #expect(JPEGScans(bytes, from: 2).count == 1)
        }
    }

    /// Phones store a second picture or a movie behind the first one, and an index of them beside the profile.
    @Test func anIndexOfPicturesIsNoProfile() throws {
        let index = PictureMaker.segment(0xE2, Array("MPF\0".utf8) + [UInt8](repeating: 0, count: 40))
        let profile = PictureMaker.profile()
        let segments = index + PictureMaker.profileSegments(profile) + index
        let file = PictureMaker.jpeg(PictureMaker.quarters(64, 64), segments: segments)
        let movie = PictureMaker.box("ftyp", Array("mp42".utf8) + [0, 0, 0, 0])
        let (first, all) = (try Thumbnail.make(file), try Thumbnail.make(file + file + movie))
        #expect(try PictureFacts.read(all.webP).icc == profile)
        #expect(first.webP == all.webP && all.isWhole == true)
    }

    @Test func halfAPictureIsShown() throws {
        for file in [
            PictureMaker.jpeg(PictureMaker.quarters(256, 256)), PictureMaker.png(PictureMaker.gradient(256, 256)),
            PictureMaker.png(PictureMaker.gradient(256, 256), isInterlaced: true),
            PictureMaker.webP(PictureMaker.gradient(256, 256), isLossless: false),
            PictureMaker.gif(screen: (256, 256), width: 256, height: 256) { x, y in UInt8((x ^ y) & 255) },
        ] {
            #expect(try Thumbnail.make(file).isWhole == true)
            let half = try Thumbnail.make(Array(file[..<(file.count / 2)]))
            #expect(half.isWhole == false && (half.width, half.height) == (64, 64))
        }
    }

    /// Noise fits at no quality, so the thumbnail is smaller than asked for.
    @Test func noiseStaysBelowTheLimit() throws {
        var generator = SystemRandomNumberGenerator()
        var raster = Raster(width: 1100, height: 1100)
        for index in raster.pixels.indices {
            raster.pixels[index] = Pixel.random(in: 0...255, using: &generator) | Pixel(0, 0, 0, 255)
        }
        let thumbnail = try Thumbnail.make(PictureMaker.webP(raster), side: 1100)
        #expect(thumbnail.webP.count <= PictureLimits.thumbnailSize)
        #expect([550, 1100].contains(thumbnail.width))
        #expect(PictureMaker.pixels(webP: thumbnail.webP)?.width == thumbnail.width)
    }
}

/// Content that claims too much, and content that is no picture. Every answer is a typed error within a bounded time.
@Suite struct LimitTests {
    /// 65 bytes that declare 900 million pixels.
    @Test(arguments: [(30_000, 30_000), (65_501, 1), (1, 0x7FFF_FFFF), (0x7FFF_FFFF, 0x7FFF_FFFF)])
    func pngsAreRefusedByTheirHeader(_ width: Int, _ height: Int) {
        let file =
            PictureMaker.pngHeader(width, height, .rgb, depth: 8, isInterlaced: false)
            + PictureMaker.pngChunk("IDAT", [0x78, 0x9C, 1, 0]) + PictureMaker.pngChunk("IEND", [])
        #expect(Self.code { try Thumbnail.make(file) } == .tooLarge)
    }

    /// 100 million pixels of 8 bytes take longer than those of 4.
    @Test func bytesOfRowsAreLimited() {
        let file =
            PictureMaker.pngHeader(10_000, 10_000, .rgba, depth: 16, isInterlaced: false)
            + PictureMaker.pngChunk("IDAT", [])
        #expect(Self.code { try Thumbnail.make(file) } == .tooLarge)
    }

    @Test(arguments: [(false, 16_000, 15_000, false), (false, 16_000, 16_000, true), (true, 16_000, 15_000, true)])
    func jpegsAreRefusedByTheirHeader(_ isProgressive: Bool, _ width: Int, _ height: Int, _ isRefused: Bool) {
        var file = PictureMaker.jpeg(PictureMaker.gradient(8, 8), isProgressive: isProgressive)
        let frame = file.indices.dropLast().first { file[$0] == 0xFF && (0xC0...0xC2).contains(file[$0 + 1]) } ?? 0
        file.replaceSubrange(
            frame + 5..<frame + 9,
            with: [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)])
        // The allowed one has few pixels but a picture's memory; it must come back all the same.
        #expect((Self.code { try Thumbnail.make(file) } == .tooLarge) == isRefused)
    }

    /// Empty scans cost time for every pixel.
    @Test func scansAreCounted() {
        let file = PictureMaker.jpeg(PictureMaker.gradient(64, 64), isProgressive: true)
        var scans: [UInt8] = []
        for _ in 0..<200 { scans += PictureMaker.segment(0xDA, [1, 1, 0, 0, 0, 0]) }
        #expect(Self.code { try Thumbnail.make(Array(file.dropLast(2)) + scans + file.suffix(2)) } == .tooLarge)
    }

    /// Pixels that inflate to far more than the rows need: the rest is never inflated.
    @Test func zlibBombsEndWithTheLastRow() throws {
        let stream = PictureMaker.zlib([UInt8](repeating: 0, count: 100 << 20))
        let file =
            PictureMaker.pngHeader(4, 4, .gray, depth: 8, isInterlaced: false)
            + PictureMaker.pngChunk("IDAT", stream) + PictureMaker.pngChunk("IEND", [])
        let start = ContinuousClock.now
        #expect(try Thumbnail.make(file).isWhole == true)
        #expect(ContinuousClock.now - start < .seconds(1))
    }

    @Test(arguments: [[], [0xFF], [0xFF, 0xD8, 0xFF], Array("GIF89a".utf8), Array("hello".utf8), [0, 0, 0, 8]])
    func noPictureIsAnError(_ bytes: [UInt8]) {
        #expect(Self.code { try Thumbnail.make(bytes) } != nil)
        #expect(Self.code { try PictureFacts.read(bytes) } != nil)
    }

    @Test func chunksMayReachBeyondTheFile() throws {
        var file = PictureMaker.png(PictureMaker.gradient(8, 8))
        file.replace(bigEndian: UInt32(0x7FFF_FFFF), at: 33)
        #expect(try Thumbnail.make(file).isWhole == true)
        file.replace(bigEndian: UInt32.max, at: 33)
        #expect(Self.code { try Thumbnail.make(file) } == .damaged)
    }

    private static func code(_ body: () throws -> some Any) -> PictureFault.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? PictureFault)?.code
        }
    }
}

/// Damage at any place: no trap, a typed error or a thumbnail.
@Suite struct DamageTests {
    static let files: [(String, [UInt8])] = {
        let exif = PictureMaker.exif(
            orientation: 6, taken: "2026:01:31 18:30:05", make: "A", model: "B", hasLocation: true)
        let raster = PictureMaker.gradient(12, 9)
        let segments = PictureMaker.exifSegment(exif) + PictureMaker.profileSegments(PictureMaker.profile(count: 140))
        return [
            ("jpeg", PictureMaker.jpeg(raster, segments: segments)),
            ("progressive", PictureMaker.jpeg(raster, isProgressive: true)),
            ("ink", PictureMaker.jpeg(raster, isCMYK: true)),
            ("png", PictureMaker.png(raster, chunks: PictureMaker.pngChunk("eXIf", exif))),
            ("interlaced", PictureMaker.png(raster, isInterlaced: true)),
            (
                "palette",
                PictureMaker.png(12, 9, .palette, depth: 4, chunks: PictureMaker.pngChunk("PLTE", [UInt8](0..<48))) {
                    [($0 + $1) % 16]
                }
            ),
            (
                "gif",
                PictureMaker.gif(screen: (12, 9), width: 12, height: 9, bits: 4, isInterlaced: true, transparent: 2) {
                    UInt8(($0 * $1) & 15)
                }
            ),
            ("lossless", PictureMaker.webP(raster, chunks: [("EXIF", exif)])),
            ("lossy", PictureMaker.webP(PictureMaker.gradient(12, 9, hasAlpha: true), isLossless: false)),
            ("animation", PictureMaker.animation(raster, canvas: (20, 20), left: 2, top: 4)),
        ]
    }()

    /// Time after which a server ends the process of a picture.
    private static let patience = Duration.seconds(10)

    private static func look(_ bytes: [UInt8]) {
        let start = ContinuousClock.now
        defer { #expect(ContinuousClock.now - start < patience) }
        if let thumbnail = try? Thumbnail.make(bytes, side: 16) {
            #expect((1...16).contains(thumbnail.width) && (1...16).contains(thumbnail.height))
            #expect(thumbnail.webP.count <= PictureLimits.thumbnailSize)
        }
        if let facts = try? PictureFacts.read(bytes) { #expect(facts.width > 0 && facts.height > 0) }
    }

    @Test(arguments: files.indices) func cutOrZeroedAnywhere(_ number: Int) {
        let file = Self.files[number].1
        for count in stride(from: 0, to: file.count, by: 10) {
            Self.look(Array(file[..<count]))
            Self.look(file[..<count] + [UInt8](repeating: 0, count: file.count - count))
            var changed = file
            let end = min(file.count, count + 10)
            changed.replaceSubrange(count..<end, with: [UInt8](repeating: 0, count: end - count))
            Self.look(changed)
        }
    }

    @Test(arguments: files.indices) func flippedAnywhere(_ number: Int) {
        let file = Self.files[number].1
        for index in file.indices {
            for mask in [0xFF, 0x01] as [UInt8] {
                var changed = file
                changed[index] ^= mask
                Self.look(changed)
            }
        }
    }
}
