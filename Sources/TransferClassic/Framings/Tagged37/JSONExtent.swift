internal import TransferModel

/// Finds the end of a JSON object that is passed repeatedly with more bytes each time, and examines each byte once. The
/// parser checks later whether it is valid JSON.
struct JSONExtent {
    /// The number of bytes examined.
    private(set) var bytes = 0

    /// The number of UTF-16 code units examined.
    private(set) var units = 0

    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// The length in the header: neither count may exceed it, and one must equal it at the end.
    private let length: Int

    init(length: Int) {
        self.length = length
    }

    /// - Parameter shown: the bytes from the beginning of the JSON.
    /// - Returns: whether the object has ended, after `bytes` bytes.
    /// - Throws: `malformedFrame` if it is not an object, is nested too deeply, or has another length; `frameTooLarge`.
    mutating func ends(in shown: RawSpan) throws(ClassicFault) -> Bool {
        try shown.withUnsafeBytes { (shown) throws(ClassicFault) in
            while bytes < shown.count {
                guard try take(shown[bytes]) else { continue }
                guard bytes == length || units == length else { throw Self.otherLength }
                return true
            }
            return false
        }
    }

    /// - Returns: whether this is the last byte of the object.
    private mutating func take(_ byte: UInt8) throws(ClassicFault) -> Bool {
        bytes += 1
        // Each character has one byte that is no continuation; those of four bytes are two code units (RFC 3629).
        if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
        guard bytes <= ClassicLimits.json else {
            throw ClassicFault(.frameTooLarge, "A message has more than \(ClassicLimits.json) bytes.")
        }
        guard units <= length else { throw Self.otherLength }
        guard !isInString else {
            takeInString(byte)
            return false
        }
        return try takeOutside(byte)
    }

    private mutating func takeInString(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }

    private mutating func takeOutside(_ byte: UInt8) throws(ClassicFault) -> Bool {
        switch byte {
        case UInt8(ascii: "{"): depth += 1
        case 0x20, 0x09, 0x0A, 0x0D: break
        case _ where depth == 0: throw ClassicFault(.malformedFrame, "A header is not followed by a JSON object.")
        case UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: "\""): isInString = true
        default: break
        }
        guard depth <= ClassicLimits.jsonDepth else {
            throw ClassicFault(.malformedFrame, "JSON is nested more than \(ClassicLimits.jsonDepth) deep.")
        }
        return depth == 0 && (byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]"))
    }

    private static let otherLength = ClassicFault(
        .malformedFrame, "The length of a message must be its bytes or its characters, plus the 37 of its header.")
}
