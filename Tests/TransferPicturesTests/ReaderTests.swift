import Glibc
import Testing
import TransferModel

@testable import TransferPictures

/// What the headers of each format say.
@Suite struct ReaderTests {
    private static let raster = PictureMaker.gradient(40, 30)

    private static func exif(isBigEndian: Bool = true) -> [UInt8] {
        PictureMaker.exif(
            orientation: 6, taken: "2026:01:31 18:30:05", fraction: "25", offset: "+02:00", make: "Apple ",
            model: "iPhone 15\u{1B}", hasLocation: true, isBigEndian: isBigEndian)
    }

    private static let taken = CalendarTime(year: 2026, month: 1, day: 31, hour: 18, minute: 30, second: 5).map {
        TakenTime(calendar: $0, nanoseconds: 250_000_000, offset: 120)
    }

    @Test(arguments: [true, false]) func jpegs(_ isBigEndian: Bool) throws {
        let profile = PictureMaker.profile()
        let segments =
            PictureMaker.exifSegment(Self.exif(isBigEndian: isBigEndian)) + PictureMaker.profileSegments(profile)
        let file = PictureMaker.jpeg(Self.raster, segments: segments)
        let facts = try PictureFacts.read(file)
        #expect((facts.format, facts.width, facts.height) == (.jpeg, 40, 30))
        #expect(facts.orientation == .right && facts.shownSize == (30, 40))
        #expect(facts.taken == Self.taken && facts.taken?.text == "2026-01-31T18:30:05")
        #expect(facts.camera == "Apple iPhone 15")
        #expect(facts.hasLocation && !facts.isProgressive && !facts.hasAlpha && facts.icc == profile)
        let offset = try #require(facts.locationOffset)
        #expect(Array(file[offset..<offset + 4]) == (isBigEndian ? [0, 1, 0, 2] : [1, 0, 2, 0]))
        #expect(try PictureFacts.read(PictureMaker.jpeg(Self.raster, isProgressive: true)).isProgressive)
    }

    @Test func webPs() throws {
        let profile = PictureMaker.profile(count: 537)
        let file = PictureMaker.webP(Self.raster, chunks: [("ICCP", profile), ("EXIF", Self.exif())])
        let facts = try PictureFacts.read(file)
        #expect((facts.format, facts.width, facts.height) == (.webp, 40, 30))
        #expect(facts.orientation == .right && facts.taken == Self.taken && facts.icc == profile && !facts.isAnimated)
        for isLossless in [true, false] {
            let plain = try PictureFacts.read(PictureMaker.webP(Self.raster, isLossless: isLossless))
            #expect((plain.width, plain.height, plain.icc) == (40, 30, nil))
        }
        let animation = try PictureFacts.read(PictureMaker.animation(Self.raster, canvas: (60, 50), left: 4, top: 2))
        #expect((animation.width, animation.height, animation.isAnimated) == (60, 50, true))
    }

    @Test func pngs() throws {
        let profile = PictureMaker.profile()
        let chunks =
            PictureMaker.pngChunk("iCCP", Array("P3".utf8) + [0, 0] + PictureMaker.zlib(profile))
            + PictureMaker.pngChunk("eXIf", Self.exif()) + PictureMaker.pngChunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0])
        let facts = try PictureFacts.read(PictureMaker.png(Self.raster, isInterlaced: true, chunks: chunks))
        #expect((facts.format, facts.width, facts.height) == (.png, 40, 30))
        #expect(facts.icc == profile && facts.orientation == .right && facts.taken == Self.taken)
        #expect(facts.isAnimated && facts.isProgressive && facts.hasAlpha)
    }

    /// A profile that inflates to more than is kept, and one that is damaged.
    @Test(arguments: [PictureMaker.zlib([UInt8](repeating: 0, count: 1 << 22)), [1, 2, 3]])
    func profilesAreBounded(_ stream: [UInt8]) throws {
        let chunk = PictureMaker.pngChunk("iCCP", [0x50, 0, 0] + stream)
        #expect(try PictureFacts.read(PictureMaker.png(Self.raster, chunks: chunk)).icc == nil)
    }

    @Test func gifs() throws {
        let loop = [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        let still = try PictureFacts.read(PictureMaker.gif(screen: (9, 8), width: 9, height: 8) { _, _ in 0 })
        #expect((still.format, still.width, still.height) == (.gif, 9, 8))
        #expect(!still.isAnimated && !still.hasAlpha)
        let moving = PictureMaker.gif(screen: (9, 8), width: 9, height: 8, transparent: 3, before: loop) { _, _ in 0 }
        let facts = try PictureFacts.read(moving)
        #expect(facts.isAnimated && facts.hasAlpha)
        // Without the extension, the second frame shows it.
        let frame = PictureMaker.gif(screen: (9, 8), width: 9, height: 8) { _, _ in 0 }
        let two = frame.dropLast() + frame[(13 + 768)...]
        #expect(try PictureFacts.read(Array(two)).isAnimated)
    }

    /// XMP with the place of a picture, which has no EXIF data.
    @Test func locationsInXMPAreFound() throws {
        let packet = Array("<x exif:GPSLatitude=\"48,8N\"/>".utf8)
        let segment = PictureMaker.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet)
        let chunk = PictureMaker.pngChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + packet)
        for file in [
            PictureMaker.jpeg(Self.raster, segments: segment), PictureMaker.png(Self.raster, chunks: chunk),
            PictureMaker.webP(Self.raster, chunks: [("XMP ", packet)]),
        ] {
            let facts = try PictureFacts.read(file)
            #expect(facts.hasLocation && facts.locationOffset == nil)
        }
    }

    /// A camera that always writes the directory, but does not know where it is.
    @Test func aDirectoryWithoutPlaceIsNoLocation() throws {
        var exif = PictureMaker.exif(hasLocation: true)
        let tag = try #require(exif.indices.dropLast(4).last { Array(exif[$0..<$0 + 4]) == [0, 2, 0, 5] })
        exif[tag + 1] = 0
        let facts = try PictureFacts.read(
            PictureMaker.jpeg(Self.raster, segments: PictureMaker.exifSegment(exif)))
        #expect(!facts.hasLocation && facts.locationOffset != nil)
    }

    /// Directories that point to each other and to themselves, and counts of 2^32 - 1.
    @Test func directoriesMayNotLoop() throws {
        for isBigEndian in [true, false] {
            let exif = Self.exif(isBigEndian: isBigEndian)
            for index in exif.indices.dropLast(4) {
                for value in [[0, 0, 0, 8], [8, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 0]] as [[UInt8]] {
                    var changed = exif
                    changed.replaceSubrange(index..<index + 4, with: value)
                    _ = Exif(Window(changed), at: 0)
                }
            }
        }
    }

    /// A file is read alike from memory and by its descriptor.
    @Test func descriptorsAreRead() throws {
        let bytes = PictureMaker.png(Self.raster, chunks: PictureMaker.pngChunk("eXIf", Self.exif()))
        let file = try #require(tmpfile())
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count && fflush(file) == 0)
        let source = DescriptorSource(descriptor: fileno(file), size: bytes.count)
        #expect(try PictureFacts(reading: source) == PictureFacts.read(bytes))
        #expect(source.read(at: bytes.count - 3, count: 9).elementsEqual(bytes.suffix(3)))
        #expect(source.read(at: -1, count: 9).isEmpty && source.read(at: bytes.count, count: 9).isEmpty)
        // A file that has become shorter in the meantime.
        ftruncate(fileno(file), 40)
        #expect(source.read(at: 30, count: 100).elementsEqual(bytes[30..<40]))
    }

    @Test(arguments: ["2026:02:30 00:00:00", "0000:00:00 00:00:00", "    :  :     :  :  ", "2026:01:31", "", "x"])
    func timesThatDoNotExistAreDropped(_ text: String) throws {
        let exif = PictureMaker.exif(taken: text)
        #expect(Exif(Window(exif), at: 0)?.taken == nil)
    }

    @Test(arguments: [
        ("+02:00", 120), ("-0330", -210), ("Z", 0), ("+15:00", nil), ("+1:00", nil), ("", nil), ("+0a:00", nil),
    ])
    func offsets(_ text: String, _ minutes: Int?) {
        #expect(TakenTime.offset(text.utf8) == minutes)
    }
}

/// The box readers: HEIF pictures and videos.
@Suite struct MediaBoxTests {
    private static let brands = PictureMaker.box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))

    private static func full(_ name: String, _ body: [UInt8], version: UInt8 = 0) -> [UInt8] {
        PictureMaker.box(name, [version, 0, 0, 0] + body)
    }

    /// A picture of 4,032 x 3,024 whose properties are applied in the order of `turns`.
    private static func heif(turns: [[UInt8]], exif: [UInt8]) -> [UInt8] {
        let size = full("ispe", [0, 0, 0x0F, 0xC0, 0, 0, 0x0B, 0xD0])
        let profile = PictureMaker.box("colr", Array("prof".utf8) + PictureMaker.profile())
        let properties = [size, profile] + turns
        let associations: [UInt8] =
            [0, 0, 0, 1, 0, 1, UInt8(properties.count)] + (1...UInt8(properties.count)).map { $0 }
        let item = full("infe", [0, 2, 0, 0] + Array("Exif\0".utf8), version: 2)
        func meta(_ offset: Int) -> [UInt8] {
            var place: [UInt8] = [0x44, 0, 0, 1, 0, 2, 0, 0, 0, 1]
            place.append(bigEndian: UInt32(offset))
            place.append(bigEndian: UInt32(exif.count + 10))
            return full(
                "meta",
                full("pitm", [0, 1]) + full("iinf", [0, 1] + item)
                    + PictureMaker.box(
                        "iprp", PictureMaker.box("ipco", properties.flatMap(\.self)) + full("ipma", associations))
                    + full("iloc", place))
        }
        let start = brands.count + meta(0).count + 8
        return brands + meta(start) + PictureMaker.box("mdat", [0, 0, 0, 6] + Array("Exif\0\0".utf8) + exif)
    }

    @Test func pictures() throws {
        let exif = PictureMaker.exif(orientation: 3, taken: "2026:01:31 18:30:05", model: "X", hasLocation: true)
        let file = Self.heif(turns: [PictureMaker.box("irot", [3])], exif: exif)
        let facts = try PictureFacts.read(file)
        #expect((facts.format, facts.width, facts.height) == (.heif, 4032, 3024))
        #expect(facts.orientation == .right && facts.shownSize == (3024, 4032))
        #expect(facts.taken?.text == "2026-01-31T18:30:05" && facts.camera == "X" && facts.hasLocation)
        #expect(facts.icc == PictureMaker.profile())
        let offset = try #require(facts.locationOffset)
        #expect(Array(file[offset..<offset + 4]) == [0, 1, 0, 2])
        #expect(throws: PictureFault.unsupported("libheif is not installed.")) {
            try Thumbnail.make(file)
        }
    }

    /// A mirrored picture that is then turned is not the one that is turned and then mirrored.
    @Test func turnsApplyInOrder() throws {
        let (mirror, turn) = (PictureMaker.box("imir", [1]), PictureMaker.box("irot", [1]))
        #expect(try PictureFacts.read(Self.heif(turns: [mirror, turn], exif: [])).orientation == .transposed)
        #expect(try PictureFacts.read(Self.heif(turns: [turn, mirror], exif: [])).orientation == .transversed)
    }

    private static func movie(matrix: [UInt32], keys: [(String, String)], user: [UInt8] = []) -> [UInt8] {
        var track = [UInt8](repeating: 0, count: 36)
        let (a, b, c, d) = (matrix[0], matrix[1], matrix[2], matrix[3])
        for number in [a, b, 0, c, d, 0, 0, 0, 0x4000_0000, 1920 << 16, 1080 << 16] { track.append(bigEndian: number) }
        var header: [UInt8] = []
        // 2026-01-31 18:30:05 since 1904.
        header.append(bigEndian: UInt32(1_769_884_205 + 2_082_844_800))
        var names: [UInt8] = [0, 0, 0, UInt8(keys.count)]
        var values: [UInt8] = []
        for (index, (key, value)) in keys.enumerated() {
            names += PictureMaker.box("mdta", Array(key.utf8))
            let data = PictureMaker.box("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array(value.utf8))
            values.append(bigEndian: UInt32(data.count + 8))
            values += [0, 0, 0, UInt8(index + 1)] + data
        }
        let meta = PictureMaker.box("meta", full("keys", names) + PictureMaker.box("ilst", values))
        return PictureMaker.box("ftyp", Array("qt  \0\0\0\0qt  ".utf8))
            + PictureMaker.box("mdat", [1, 2, 3])
            + PictureMaker.box(
                "moov",
                full("mvhd", header) + PictureMaker.box("trak", full("tkhd", track)) + PictureMaker.box("udta", user)
                    + meta)
    }

    @Test func videos() throws {
        let keys = [
            ("com.apple.quicktime.creationdate", "2026-01-31T20:30:05+0200"),
            ("com.apple.quicktime.location.ISO6709", "+48.1+011.5/"), ("com.apple.quicktime.make", "Apple"),
            ("com.apple.quicktime.model", "iPhone 15"),
        ]
        let turned: [UInt32] = [0, 0x1_0000, 0xFFFF_0000, 0]
        let facts = try PictureFacts.read(Self.movie(matrix: turned, keys: keys))
        #expect((facts.format, facts.width, facts.height) == (.quickTime, 1920, 1080))
        #expect(facts.orientation == .right && facts.hasLocation && facts.camera == "Apple iPhone 15")
        #expect(facts.taken?.text == "2026-01-31T20:30:05" && facts.taken?.offset == 120)
        let plain = try PictureFacts.read(Self.movie(matrix: [0x1_0000, 0, 0, 0x1_0000], keys: []))
        #expect(plain.orientation == .upright && !plain.hasLocation && plain.camera == nil)
        #expect(plain.taken?.text == "2026-01-31T18:30:05" && plain.taken?.offset == 0)
        let user = PictureMaker.box("\u{A9}xyz", [0, 1, 2, 3])
        #expect(try PictureFacts.read(Self.movie(matrix: turned, keys: [], user: user)).hasLocation)
    }

    /// Sizes of 0, 1, 7, 2^32 - 1 and 2^64 - 1 at every place.
    @Test func sizesMayBeAnything() throws {
        let exif = PictureMaker.exif(taken: "2026:01:31 18:30:05", hasLocation: true)
        let files = [
            Self.heif(turns: [PictureMaker.box("irot", [1])], exif: exif),
            Self.movie(matrix: [0, 0, 0, 0], keys: [("com.apple.quicktime.model", "X")]),
        ]
        let values: [[UInt8]] = [
            [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 7], [255, 255, 255, 255], [UInt8](repeating: 255, count: 8),
            [0, 0, 0, 1, 0x66, 0x74, 0x79, 0x70, 0x7F, 255, 255, 255, 255, 255, 255, 255],
        ]
        for file in files {
            for index in file.indices.dropLast(16) {
                for value in values {
                    var changed = file
                    changed.replaceSubrange(index..<index + value.count, with: value)
                    _ = try? PictureFacts.read(changed)
                }
            }
        }
    }

    /// A picture's brands decide, and M4A is no video.
    @Test(arguments: [
        ("avif\0\0\0\0mif1", PictureFormat.avif), ("mif1\0\0\0\0avif", .avif), ("mif1\0\0\0\0heic", .heif),
        ("isom\0\0\0\0mp42", .mp4), ("qt  \0\0\0\0", .quickTime), ("M4A \0\0\0\0", nil),
    ])
    func brandsNameTheFormat(_ brands: String, _ format: PictureFormat?) {
        let file = PictureMaker.box("ftyp", Array(brands.utf8))
        file.withUnsafeBytes { #expect(PictureFormat(recognising: MemorySource($0)) == format) }
    }
}
