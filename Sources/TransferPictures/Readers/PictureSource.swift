internal import Glibc

/// Bytes of a picture or video that are read by offset, so that a long video need not be in memory.
package protocol PictureSource {
    /// Size of the file in bytes.
    var size: Int { get }

    /// Reads `count` bytes, which is not negative, at `offset`; fewer at the end of the file, and none outside it or
    /// after an error.
    func read(at offset: Int, count: Int) -> [UInt8]
}

/// A file that is in memory or mapped into it.
package struct MemorySource: PictureSource {
    private let bytes: UnsafeRawBufferPointer

    /// - Parameter bytes: the whole file; the caller keeps them as long as the source is used.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var size: Int { bytes.count }

    package func read(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, offset < bytes.count, count > 0 else { return [] }
        return Array(bytes[offset..<offset + min(count, bytes.count - offset)])
    }
}

/// An open file, read with pread(2).
package struct DescriptorSource: PictureSource {
    private let descriptor: Int32
    package let size: Int

    /// - Parameters:
    ///   - descriptor: open for reading; the caller keeps it open as long as the source is used.
    ///   - size: bytes of the file.
    package init(descriptor: Int32, size: Int) {
        (self.descriptor, self.size) = (descriptor, max(0, size))
    }

    package func read(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, offset < size, count > 0 else { return [] }
        let count = min(count, size - offset)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let read = pread(
                    descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
                if read < 0, errno == EINTR { continue }
                guard read > 0 else { return }
                filled += read
            }
        }
    }
}

extension PictureSource {
    func window(at offset: Int, count: Int) -> Window { Window(read(at: offset, count: count)) }

    /// Reads exactly `count` bytes; nil if the file has fewer there.
    func exactly(at offset: Int, count: Int) -> Window? {
        let window = window(at: offset, count: count)
        return window.count == count ? window : nil
    }
}

/// A part of a file in memory, whose integers are read by offset. An offset outside gives nil.
struct Window {
    enum ByteOrder {
        case bigEndian, littleEndian
    }

    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    subscript(offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

    /// Reads an unsigned integer of 1 to 7 bytes.
    func integer(at offset: Int, bytes count: Int, _ order: ByteOrder = .bigEndian) -> Int? {
        guard let part = slice(at: offset, count: count), count <= 7 else { return nil }
        let combine = { (value: Int, byte: UInt8) in value << 8 | Int(byte) }
        return order == .bigEndian ? part.reduce(0, combine) : part.reversed().reduce(0, combine)
    }

    /// Reads an unsigned integer of 8 bytes in network byte order; nil also if it is 2^63 or more.
    func long(at offset: Int) -> Int? {
        guard let high = integer(at: offset, bytes: 4), let low = integer(at: offset + 4, bytes: 4), high <= 0x7FFF_FFFF
        else { return nil }
        return high << 32 | low
    }

    func slice(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else { return nil }
        return bytes[offset..<offset + count]
    }

    /// Whether the text in ASCII is at `offset`.
    func has(_ text: StaticString, at offset: Int) -> Bool {
        guard let part = slice(at: offset, count: text.utf8CodeUnitCount) else { return false }
        return text.withUTF8Buffer { part.elementsEqual($0) }
    }

    /// Whether the text in ASCII occurs anywhere.
    func contains(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard let first = text.first, bytes.count >= text.count else { return false }
            return (0...bytes.count - text.count).contains {
                bytes[$0] == first && bytes[$0..<$0 + text.count].elementsEqual(text)
            }
        }
    }
}

extension Window {
    /// Whether a packet of XMP says where the picture was taken. Its names are those of EXIF (XMP specification, part
    /// 2, section 2.4).
    var hasLocationInXMP: Bool { contains("GPSLatitude") || contains("GPSLongitude") }
}
