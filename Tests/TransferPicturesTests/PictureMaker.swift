import CTurboJPEG
import CWebP
import CZlib
import TransferModel

@testable import TransferPictures

/// Makes small pictures and their metadata for tests, with as little as the formats demand.
enum PictureMaker {
    /// A picture whose pixels all differ a little; alpha as well if wanted.
    static func gradient(_ width: Int, _ height: Int, hasAlpha: Bool = false) -> Raster {
        var raster = Raster(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                raster.pixels[y * width + x] = Pixel(
                    UInt8(x * 255 / max(1, width - 1)), UInt8(y * 255 / max(1, height - 1)),
                    UInt8((x * 7 + y * 13) % 256),
                    hasAlpha ? UInt8((x + y) * 255 / max(1, width + height - 2)) : 255)
            }
        }
        return raster
    }

    /// Four quarters in red, green, blue and white, from the upper left to the lower right.
    static func quarters(_ width: Int, _ height: Int) -> Raster {
        var raster = Raster(width: width, height: height)
        let colours = [Pixel(255, 0, 0, 255), Pixel(0, 255, 0, 255), Pixel(0, 0, 255, 255), Pixel(255, 255, 255, 255)]
        for y in 0..<height {
            for x in 0..<width { raster.pixels[y * width + x] = colours[(y * 2 / height) * 2 + x * 2 / width] }
        }
        return raster
    }

    /// A profile with nothing but a header.
    static func profile(space: String = "RGB ", count: Int = 536) -> [UInt8] {
        var profile = [UInt8](repeating: 7, count: count)
        profile.replace(bigEndian: UInt32(count), at: 0)
        profile.replaceSubrange(16..<20, with: space.utf8)
        profile.replaceSubrange(36..<40, with: "acsp".utf8)
        return profile
    }

    /// A field of a TIFF directory.
    struct Field {
        let tag: UInt16
        let type: UInt16
        let value: [UInt8]
        let count: UInt32
    }

    /// EXIF data with three directories.
    static func exif(
        orientation: Int = 1, taken: String? = nil, fraction: String? = nil, offset: String? = nil, make: String? = nil,
        model: String? = nil, hasLocation: Bool = false, isBigEndian: Bool = true
    ) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            return isBigEndian ? bytes.reversed() : bytes
        }
        func text(_ tag: UInt16, _ text: String?) -> [Field] {
            guard let text else { return [] }
            return [Field(tag: tag, type: 2, value: Array(text.utf8) + [0], count: UInt32(text.utf8.count + 1))]
        }
        func long(_ tag: UInt16, _ value: Int) -> [Field] {
            [Field(tag: tag, type: 4, value: number(value, 4), count: 1)]
        }
        /// Writes a directory at `start`, with long values behind it.
        func directory(_ fields: [Field], at start: Int) -> [UInt8] {
            var (entries, values): ([UInt8], [UInt8]) = (number(fields.count, 2), [])
            let end = start + 2 + fields.count * 12 + 4
            for field in fields {
                entries += number(Int(field.tag), 2) + number(Int(field.type), 2) + number(Int(field.count), 4)
                if field.value.count <= 4 {
                    entries += field.value + [UInt8](repeating: 0, count: 4 - field.value.count)
                } else {
                    entries += number(end + values.count, 4)
                    values += field.value
                }
            }
            return entries + number(0, 4) + values
        }
        let times = text(0x9003, taken) + text(0x9011, offset) + text(0x9291, fraction)
        let places = hasLocation ? [Field(tag: 2, type: 5, value: [UInt8](repeating: 1, count: 24), count: 3)] : []
        func main(_ second: Int, _ third: Int) -> [Field] {
            text(0x010F, make) + text(0x0110, model)
                + [Field(tag: 0x0112, type: 3, value: number(orientation, 2), count: 1)]
                + long(0x8769, second) + (hasLocation ? long(0x8825, third) : [])
        }
        let first = 8
        let second = first + directory(main(0, 0), at: first).count
        let third = second + directory(times, at: second).count
        return Array((isBigEndian ? "MM" : "II").utf8) + number(42, 2) + number(first, 4)
            + directory(main(second, third), at: first) + directory(times, at: second)
            + directory(places, at: third)
    }

    /// A box of the ISO base media file format.
    static func box(_ name: String, _ body: [UInt8]) -> [UInt8] {
        var box: [UInt8] = []
        box.append(bigEndian: UInt32(body.count + 8))
        return box + name.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + body
    }
}

// MARK: PNG

extension PictureMaker {
    /// Deflates with zlib.
    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        var count = compressBound(UInt(bytes.count))
        var output = [UInt8](repeating: 0, count: Int(count))
        compress2(&output, &count, bytes, UInt(bytes.count), 6)
        return Array(output[..<Int(count)])
    }

    static func pngChunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        var chunk: [UInt8] = []
        chunk.append(bigEndian: UInt32(body.count))
        let content = Array(name.utf8) + body
        chunk += content
        chunk.append(bigEndian: UInt32(truncatingIfNeeded: crc32(0, content, UInt32(content.count))))
        return chunk
    }

    static func pngHeader(_ width: Int, _ height: Int, _ colour: PNGHeader.Colour, depth: Int, isInterlaced: Bool)
        -> [UInt8]
    {
        var body: [UInt8] = []
        body.append(bigEndian: UInt32(truncatingIfNeeded: width))
        body.append(bigEndian: UInt32(truncatingIfNeeded: height))
        body += [UInt8(depth), colour.rawValue, 0, 0, isInterlaced ? 1 : 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + pngChunk("IHDR", body)
    }

    /// Writes a PNG whose rows take turns with all filters, in chunks of `piece` bytes.
    ///
    /// - Parameter samples: of the pixel at (x, y), each with `depth` bits.
    static func png(
        _ width: Int, _ height: Int, _ colour: PNGHeader.Colour = .rgb, depth: Int = 8, isInterlaced: Bool = false,
        chunks: [UInt8] = [], piece: Int = 8192, samples: (Int, Int) -> [Int]
    ) -> [UInt8] {
        let passes =
            isInterlaced
            ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
            : [(0, 0, 1, 1)]
        let distance = max(1, colour.samples * depth / 8)
        var content: [UInt8] = []
        for (left, top, across, down) in passes {
            let columns = Array(stride(from: left, to: width, by: across))
            if columns.isEmpty { continue }
            var above = [UInt8](repeating: 0, count: (columns.count * colour.samples * depth + 7) / 8)
            for (number, y) in stride(from: top, to: height, by: down).enumerated() {
                let row = packed(columns.flatMap { samples($0, y) }, depth: depth)
                content += filtered(row, above, UInt8(number % 5), distance)
                above = row
            }
        }
        let stream = zlib(content)
        var file = pngHeader(width, height, colour, depth: depth, isInterlaced: isInterlaced) + chunks
        for start in stride(from: 0, to: stream.count, by: piece) {
            file += pngChunk("IDAT", Array(stream[start..<min(stream.count, start + piece)]))
        }
        return file + pngChunk("IEND", [])
    }

    static func png(_ raster: Raster, isInterlaced: Bool = false, chunks: [UInt8] = []) -> [UInt8] {
        png(raster.width, raster.height, .rgba, isInterlaced: isInterlaced, chunks: chunks) { x, y in
            let pixel = raster.pixels[y * raster.width + x]
            return [Int(pixel.x), Int(pixel.y), Int(pixel.z), Int(pixel.w)]
        }
    }

    private static func packed(_ samples: [Int], depth: Int) -> [UInt8] {
        var (bytes, buffer, count): ([UInt8], Int, Int) = ([], 0, 0)
        for sample in samples {
            (buffer, count) = (buffer << depth | sample, count + depth)
            while count >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: buffer >> (count - 8)))
                count -= 8
            }
            buffer &= 0xFFFF
        }
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: buffer << (8 - count))) }
        return bytes
    }

    private static func filtered(_ row: [UInt8], _ above: [UInt8], _ filter: UInt8, _ distance: Int) -> [UInt8] {
        [filter]
            + row.indices.map { index in
                let left = index >= distance ? Int(row[index - distance]) : 0
                let corner = index >= distance ? Int(above[index - distance]) : 0
                let up = Int(above[index])
                let estimate = left + up - corner
                let nearest = [left, up, corner].min { abs(estimate - $0) < abs(estimate - $1) } ?? 0
                let predicted = [0, left, up, (left + up) / 2, nearest][Int(filter)]
                return UInt8(truncatingIfNeeded: Int(row[index]) - predicted)
            }
    }
}

// MARK: GIF

extension PictureMaker {
    /// Splits bytes into sub-blocks.
    static func subBlocks(_ bytes: [UInt8]) -> [UInt8] {
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(bytes.count, start + 255)]
            blocks += [UInt8(block.count)] + block
        }
        return blocks + [0]
    }

    /// Codes of the indices by LZW, with a clear code in front and whenever the table is full.
    static func gifCodes(_ indices: [UInt8], bits: Int) -> [UInt8] {
        var (bytes, buffer, count): ([UInt8], Int, Int) = ([], 0, 0)
        let clear = 1 << bits
        var (size, next, table) = (bits + 1, clear + 2, [Int: Int]())
        func put(_ code: Int) {
            buffer |= code << count
            count += size
            while count >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: buffer))
                (buffer, count) = (buffer >> 8, count - 8)
            }
        }
        put(clear)
        var prefix: Int?
        for index in indices {
            guard let before = prefix else {
                prefix = Int(index)
                continue
            }
            if let known = table[before << 8 | Int(index)] {
                prefix = known
                continue
            }
            put(before)
            if next < 4096 {
                table[before << 8 | Int(index)] = next
                if next == 1 << size, size < 12 { size += 1 }
                next += 1
            } else {
                put(clear)
                (size, next, table) = (bits + 1, clear + 2, [:])
            }
            prefix = Int(index)
        }
        if let prefix { put(prefix) }
        put(clear + 1)
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: buffer)) }
        return bytes
    }

    /// Writes a GIF with one frame. The palette has as many entries as `bits` allow: (index, 255 - index, index * 3).
    static func gif(
        screen: (Int, Int), left: Int = 0, top: Int = 0, width: Int, height: Int, bits: Int = 8,
        isInterlaced: Bool = false, transparent: UInt8? = nil, hasLocalPalette: Bool = false, before: [UInt8] = [],
        index: (Int, Int) -> UInt8
    ) -> [UInt8] {
        let palette = (0..<1 << bits).flatMap { index -> [UInt8] in
            [UInt8(index), UInt8(255 - index), UInt8(index * 3 % 256)]
        }
        var file = Array("GIF89a".utf8)
        func append(_ numbers: Int...) { for number in numbers { file.append(littleEndian: UInt16(number)) } }
        append(screen.0, screen.1)
        file += [hasLocalPalette ? 0 : 0x80 | UInt8(bits - 1), 0, 0]
        if !hasLocalPalette { file += palette }
        file += before
        if let transparent { file += [0x21, 0xF9, 4, 1, 0, 0, transparent, 0] }
        file.append(0x2C)
        append(left, top, width, height)
        file.append((hasLocalPalette ? 0x80 | UInt8(bits - 1) : 0) | (isInterlaced ? 0x40 : 0))
        if hasLocalPalette { file += palette }
        let rows =
            isInterlaced
            ? [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
            : Array(0..<height)
        let indices = rows.flatMap { y in (0..<width).map { index($0, y) } }
        return file + [UInt8(max(2, bits))] + subBlocks(gifCodes(indices, bits: max(2, bits))) + [0x3B]
    }
}

// MARK: JPEG and WebP

extension PictureMaker {
    static func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        var segment: [UInt8] = [0xFF, marker]
        segment.append(bigEndian: UInt16(body.count + 2))
        return segment + body
    }

    static func exifSegment(_ exif: [UInt8]) -> [UInt8] { segment(0xE1, Array("Exif\0\0".utf8) + exif) }

    /// The profile in two segments, the second one first.
    static func profileSegments(_ profile: [UInt8]) -> [UInt8] {
        let half = profile.count / 2
        return segment(0xE2, Array("ICC_PROFILE\0".utf8) + [2, 2] + profile[half...])
            + segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 2] + profile[..<half])
    }

    /// Writes a JPEG with the segments behind its first marker. For CMYK, the four values of a pixel are inverted ink,
    /// and the file has YCCK and Adobe's marker.
    static func jpeg(
        _ raster: Raster, segments: [UInt8] = [], isProgressive: Bool = false, isCMYK: Bool = false, quality: Int = 95
    ) -> [UInt8] {
        let encoder = tjInitCompress()
        defer { tjDestroy(encoder) }
        var (output, count): (UnsafeMutablePointer<UInt8>?, UInt) = (nil, 0)
        defer { tjFree(output) }
        raster.pixels.withUnsafeBytes { pixels in
            _ = tjCompress2(
                encoder, pixels.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(raster.width), 0,
                Int32(raster.height), Int32(isCMYK ? TJPF_CMYK.rawValue : TJPF_RGBA.rawValue), &output, &count,
                Int32(TJSAMP_444.rawValue), Int32(quality), isProgressive ? TJFLAG_PROGRESSIVE : 0)
        }
        let file = Array(UnsafeBufferPointer(start: output, count: Int(count)))
        return Array(file[..<2]) + segments + file[2...]
    }

    /// Writes a WebP, and the chunks behind its picture if there are any.
    static func webP(_ raster: Raster, isLossless: Bool = true, chunks: [(String, [UInt8])] = []) -> [UInt8] {
        var output: UnsafeMutablePointer<UInt8>?
        defer { WebPFree(output) }
        let count = raster.pixels.withUnsafeBytes { pixels in
            let start = pixels.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let (width, height, row) = (Int32(raster.width), Int32(raster.height), Int32(raster.width * 4))
            return isLossless
                ? WebPEncodeLosslessRGBA(start, width, height, row, &output)
                : WebPEncodeRGBA(start, width, height, row, 90, &output)
        }
        let file = Array(UnsafeBufferPointer(start: output, count: Int(count)))
        guard !chunks.isEmpty else { return file }
        let names = Set(chunks.map(\.0))
        let flags: UInt8 = (names.contains("ICCP") ? 0x20 : 0) | (names.contains("EXIF") ? 0x08 : 0)
        func place(_ value: Int) -> [UInt8] { (0..<3).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        var body = Array("WEBP".utf8)
        body += riffChunk("VP8X", [flags, 0, 0, 0] + place(raster.width - 1) + place(raster.height - 1))
        for (name, content) in chunks where name == "ICCP" { body += riffChunk(name, content) }
        body += file[12...]
        for (name, content) in chunks where name != "ICCP" { body += riffChunk(name, content) }
        return riffChunk("RIFF", body)
    }

    static func riffChunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        var chunk = Array(name.utf8)
        chunk.append(littleEndian: UInt32(content.count))
        return chunk + content + (content.count % 2 == 1 ? [0] : [])
    }

    /// An animated WebP whose first frame lies at (left, top) on the canvas.
    static func animation(_ frame: Raster, canvas: (Int, Int), left: Int, top: Int) -> [UInt8] {
        func place(_ value: Int) -> [UInt8] { (0..<3).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        let header = [0x12, 0, 0, 0] + place(canvas.0 - 1) + place(canvas.1 - 1)
        let position = place(left / 2) + place(top / 2) + place(frame.width - 1) + place(frame.height - 1)
        let picture = webP(frame)
        return riffChunk(
            "RIFF",
            Array("WEBP".utf8) + riffChunk("VP8X", header) + riffChunk("ANIM", [0, 0, 0, 0, 0, 0])
                + riffChunk("ANMF", position + [100, 0, 0, 0] + picture[12...]))
    }

    /// The pixels of a WebP.
    static func pixels(webP: [UInt8]) -> Raster? {
        var (width, height): (Int32, Int32) = (0, 0)
        guard let decoded = WebPDecodeRGBA(webP, webP.count, &width, &height) else { return nil }
        defer { WebPFree(decoded) }
        var raster = Raster(width: Int(width), height: Int(height))
        for index in raster.pixels.indices {
            raster.pixels[index] = Pixel(
                decoded[index * 4], decoded[index * 4 + 1], decoded[index * 4 + 2], decoded[index * 4 + 3])
        }
        return raster
    }
}

extension Thumbnail {
    static func make(_ bytes: [UInt8], side: Int = 64) throws(PictureFault) -> Thumbnail {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PictureFault) in try Thumbnail.make(from: bytes, side: side) }
        }
        return try result.get()
    }
}

extension PictureFacts {
    static func read(_ bytes: [UInt8]) throws(PictureFault) -> PictureFacts {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PictureFault) in try PictureFacts(reading: MemorySource(bytes)) }
        }
        return try result.get()
    }
}

extension Raster {
    /// The colours of the four quarters by their first letters, from the upper left to the lower right.
    var quarters: String {
        [(1, 1), (3, 1), (1, 3), (3, 3)].map { x, y in
            let pixel = pixels[y * height / 4 * width + x * width / 4]
            switch [pixel.x > 128, pixel.y > 128, pixel.z > 128] {
            case [true, false, false]: return "r"
            case [false, true, false]: return "g"
            case [false, false, true]: return "b"
            case [true, true, true]: return "w"
            default: return "?"
            }
        }.joined()
    }
}
