/// The markers of a JPEG (ITU-T T.81, annex B) up to its first scan.
struct JPEGHeader {
    private(set) var width = 0
    private(set) var height = 0
    /// 1 for gray, 3 for YCbCr or RGB, 4 for CMYK or YCCK.
    private(set) var components = 0
    /// Whether the decoder holds all coefficients: progressive, or sequential with several scans.
    private(set) var isProgressive = false
    /// Whether Adobe's marker is there, so that CMYK is stored inverted (Adobe technical note 5116).
    private(set) var hasAdobeMarker = false
    private(set) var exif: Exif?
    private(set) var hasLocationInXMP = false
    private(set) var icc: [UInt8]?
    /// Offset of the first marker of a scan.
    private(set) var scanOffset = 0

    /// Segments in front of the first scan. Each has 64 KiB at most, so real files with large profiles and several
    /// XMP packets have hundreds.
    private static let mostSegments = 4096

    /// Bytes between segments that are skipped as libjpeg does.
    private static let mostGarbage = 4096

    private enum Marker {
        static let endOfImage: UInt8 = 0xD9
        static let scan: UInt8 = 0xDA
        static let app1: UInt8 = 0xE1
        static let app2: UInt8 = 0xE2
        static let app14: UInt8 = 0xEE

        /// Frames with Huffman coding and 8 bits: baseline, extended sequential, progressive.
        static func isFrame(_ marker: UInt8) -> Bool { (0xC0...0xC2).contains(marker) }

        /// Lossless, hierarchical and arithmetically coded frames, which browsers refuse, too.
        static func isOtherFrame(_ marker: UInt8) -> Bool {
            (0xC3...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
        }

        static func isAlone(_ marker: UInt8) -> Bool { marker == 0x01 || (0xD0...0xD8).contains(marker) }
    }

    /// Reads the segments up to the first scan.
    ///
    /// - Throws: `damaged`, `unsupported`.
    init(_ source: some PictureSource) throws(PictureFault) {
        var profile = ProfileChunks()
        var offset = 2
        for _ in 0..<Self.mostSegments {
            let marker = try Self.marker(source, &offset)
            if Marker.isAlone(marker) { continue }
            guard marker != Marker.endOfImage else { throw .damaged("The JPEG ends before its first scan.") }
            guard let length = source.window(at: offset, count: 2).integer(at: 0, bytes: 2), length >= 2,
                length <= source.size - offset
            else { throw .damaged("A segment of the JPEG reaches beyond its end.") }
            let body = (offset: offset + 2, count: length - 2)
            switch marker {
            case Marker.scan:
                try readScan(source.window(at: body.offset, count: body.count), at: offset - 2)
                icc = profile.joined
                return
            case Marker.app1: readApp1(source.window(at: body.offset, count: body.count), at: body.offset)
            case Marker.app2: profile.add(source.window(at: body.offset, count: body.count))
            case Marker.app14:
                if source.window(at: body.offset, count: 5).has("Adobe", at: 0) { hasAdobeMarker = true }
            case _ where Marker.isFrame(marker):
                try readFrame(source.window(at: body.offset, count: body.count), isProgressive: marker == 0xC2)
            case _ where Marker.isOtherFrame(marker):
                throw .unsupported("The JPEG has a coding that is not supported.")
            default: break
            }
            offset += length
        }
        throw .damaged("The JPEG has too many segments.")
    }

    /// Finds the next marker, and advances the offset behind it. A marker may follow any number of 0xFF.
    private static func marker(_ source: some PictureSource, _ offset: inout Int) throws(PictureFault) -> UInt8 {
        let bytes = source.read(at: offset, count: 2)
        // Nearly all markers stand where the segment before ends.
        if bytes.count == 2, bytes[0] == 0xFF, bytes[1] != 0, bytes[1] != 0xFF {
            offset += 2
            return bytes[1]
        }
        let garbage = source.read(at: offset, count: mostGarbage)
        for (index, byte) in garbage.enumerated().dropFirst() where garbage[index - 1] == 0xFF {
            guard byte != 0, byte != 0xFF else { continue }
            offset += index + 1
            return byte
        }
        throw .damaged("The JPEG has no marker where one is expected.")
    }

    private mutating func readFrame(_ window: Window, isProgressive: Bool) throws(PictureFault) {
        guard components == 0, let precision = window[0], let height = window.integer(at: 1, bytes: 2),
            let width = window.integer(at: 3, bytes: 2), let components = window[5],
            window.count == 6 + 3 * Int(components)
        else { throw .damaged("The frame header of the JPEG is damaged.") }
        guard precision == 8, [1, 3, 4].contains(components) else {
            throw .unsupported("The JPEG has \(precision) bits and \(components) components.")
        }
        guard width > 0, height > 0 else { throw .damaged("The JPEG has no pixels.") }
        (self.width, self.height, self.components) = (width, height, Int(components))
        self.isProgressive = isProgressive
    }

    private mutating func readScan(_ window: Window, at offset: Int) throws(PictureFault) {
        guard components > 0, let count = window[0] else { throw .damaged("The JPEG has a scan without a frame.") }
        // A sequential scan of some components is followed by scans of the others.
        if Int(count) < components { isProgressive = true }
        scanOffset = offset
    }

    private mutating func readApp1(_ window: Window, at offset: Int) {
        if window.has("Exif\0", at: 0), exif == nil {
            exif = Exif(window, at: offset)
        } else if window.has("http://ns.adobe.com/xap/1.0/\0", at: 0) {
            hasLocationInXMP = hasLocationInXMP || window.hasLocationInXMP
        }
    }

    var facts: PictureFacts {
        var facts = PictureFacts(format: .jpeg, width: width, height: height)
        facts.add(exif)
        facts.hasLocation = facts.hasLocation || hasLocationInXMP
        facts.isProgressive = isProgressive
        facts.icc = icc
        return facts
    }
}

/// A colour profile in several segments (ICC.1:2010, annex B.4).
private struct ProfileChunks {
    private var chunks: [UInt8: ArraySlice<UInt8>] = [:]
    private var count: UInt8?
    private var isRefused = false

    /// Bytes of the text in front, the number of the chunk and the number of chunks.
    private static let headerSize = 14

    /// Adds the content of a segment if it belongs to a profile.
    mutating func add(_ window: Window) {
        guard window.has("ICC_PROFILE\0", at: 0), let number = window[12], let count = window[13], !isRefused else {
            return
        }
        let chunk = window.bytes.dropFirst(Self.headerSize)
        let size = chunks.values.reduce(chunk.count) { $0 + $1.count }
        let isExpected = number >= 1 && number <= count && (self.count ?? count) == count && chunks[number] == nil
        guard isExpected, size <= PictureLimits.profileSize else {
            isRefused = true
            return
        }
        self.count = count
        chunks[number] = chunk
    }

    /// The profile; nil if a chunk is missing, or it is too long.
    var joined: [UInt8]? {
        guard !isRefused, let count, chunks.count == Int(count) else { return nil }
        return (1...count).reduce(into: []) { $0 += chunks[$1] ?? [] }
    }
}

/// The scans of the first image in a JPEG that is in memory.
///
/// Phones append more images, videos and maps behind the first one (CIPA DC-007, Ultra HDR). They are left alone.
struct JPEGScans {
    /// Scans up to the end of the image or of the file.
    private(set) var count = 0
    /// Offset behind the end marker of the first image; nil if the file ends before.
    private(set) var end: Int?

    /// - Parameter offset: of the first scan's marker.
    init(_ bytes: UnsafeRawBufferPointer, from offset: Int) {
        var position = offset
        // Inside a scan, 0xFF is followed by 0, by a restart marker or by a marker that ends the scan (T.81, B.1.1.2).
        while let marker = Self.next(bytes, &position) {
            switch marker {
            case 0x00, 0x01, 0xD0...0xD8, 0xFF: continue
            case 0xD9:
                end = position
                return
            default:
                if marker == 0xDA { count += 1 }
                guard position <= bytes.count - 2 else { return }
                position += Int(bytes[position]) << 8 | Int(bytes[position + 1])
            }
        }
    }

    /// Finds the next 0xFF, and returns the byte behind it; the position is then behind that byte, unless it is 0xFF.
    private static func next(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> UInt8? {
        while position < bytes.count - 1 {
            if bytes[position] == 0xFF {
                let marker = bytes[position + 1]
                position += marker == 0xFF ? 1 : 2
                return marker
            }
            position += 1
        }
        return nil
    }
}

extension PictureFacts {
    mutating func add(_ exif: Exif?) {
        guard let exif else { return }
        orientation = exif.orientation ?? .upright
        (taken, camera) = (exif.taken, exif.camera)
        (hasLocation, locationOffset) = (exif.hasLocation, exif.locationOffset)
    }
}
