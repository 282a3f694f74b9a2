internal import CWebP
internal import TransferModel

/// Writes a thumbnail as WebP (RFC 9649) with at most a colour profile beside the pixels.
enum ThumbnailEncoder {
    /// Qualities of libwebp, 0 to 100, that are tried until the file is small enough. The first one nearly always is: a
    /// thumbnail of 320 pixels then has some 15 KB, a preview of 1,280 pixels 160 KB.
    private static let qualities: [Float] = [70, 40, 10]

    /// libwebp's effort, 0 to 6. Method 2 makes files as small as 4 does, within 5 %, in a third of the time.
    private static let method: Int32 = 2

    /// Bytes that the container needs besides the picture: chunk headers, `VP8X`, and padding of the profile.
    private static let containerSize = 64

    /// - Parameter profile: for the colours; nil for sRGB.
    /// - Returns: nil if the file has more than `PictureLimits.thumbnailSize` bytes at every quality.
    /// - Throws: `tooLarge` if there is too little memory.
    static func encode(_ raster: Raster, profile: [UInt8]?) throws(PictureFault) -> [UInt8]? {
        let hasAlpha = raster.pixels.contains { $0.w != 255 }
        let room = PictureLimits.thumbnailSize - containerSize - (profile?.count ?? 0)
        var output = [UInt8](repeating: 0, count: room)
        for quality in qualities {
            let count = raster.pixels.withUnsafeBytes { pixels in
                cwebp_encode(
                    pixels.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(raster.width),
                    Int32(raster.height), hasAlpha, quality, method, &output, room)
            }
            guard count >= 0 else { throw .tooLarge("There is too little memory for the thumbnail.") }
            if count > 0 { return container(Array(output[..<count]), raster, profile) }
        }
        return nil
    }

    /// Adds the profile to a file of libwebp's, which needs an extended header (section 2.7).
    private static func container(_ file: [UInt8], _ raster: Raster, _ profile: [UInt8]?) -> [UInt8] {
        guard let profile else { return file }
        var (flags, pictures): (UInt8, [UInt8]) = (0x20, [])
        file.withUnsafeBytes { bytes in
            let source = MemorySource(bytes)
            var offset = 12
            while let chunk = RIFFChunk(source, at: offset, end: bytes.count) {
                if chunk.name == "VP8X" {
                    // Only alpha can be in it.
                    flags |= bytes[chunk.body.lowerBound] & 0x10
                } else {
                    pictures += bytes[offset..<min(bytes.count, chunk.next)]
                }
                offset = chunk.next
            }
        }
        var body = Array("WEBPVP8X".utf8)
        body.append(littleEndian: UInt32(10))
        body += [flags, 0, 0, 0]
        for side in [raster.width - 1, raster.height - 1] {
            body += [UInt8(side & 0xFF), UInt8(side >> 8 & 0xFF), UInt8(side >> 16 & 0xFF)]
        }
        body += "ICCP".utf8
        body.append(littleEndian: UInt32(profile.count))
        body += profile
        // Chunks have even lengths.
        if profile.count % 2 == 1 { body.append(0) }
        body += pictures
        var output = Array("RIFF".utf8)
        output.append(littleEndian: UInt32(body.count))
        return output + body
    }
}

/// The header of a colour profile (ICC.1:2010, section 7.2).
enum ColourProfile {
    /// Bytes of the header, which the number of tables follows.
    private static let headerSize = 128

    /// Whether the bytes are a profile for RGB whose size is allowed. Its tables are not read; browsers do that, as
    /// they do with profiles of pictures from anywhere.
    static func isRGB(_ bytes: [UInt8]) -> Bool {
        let window = Window(bytes)
        return (headerSize + 4...PictureLimits.profileSize).contains(bytes.count)
            && window.integer(at: 0, bytes: 4) == bytes.count && window.has("acsp", at: 36)
            && window.has("RGB ", at: 16)
    }
}
