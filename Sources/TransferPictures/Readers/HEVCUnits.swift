/// The units of a picture that is coded by HEVC, each behind its length (ISO/IEC 14496-15, section 8.3.2).
///
/// Three zeros in a row never occur in a unit (ITU-T H.265, section 7.4.2).
enum HEVCUnits {
    /// Zeros at the end of a unit that encoders may leave there.
    private static let mostTrailing = 3

    /// Whether the lengths lead to the end of a coded picture, and no unit has a hole.
    ///
    /// - Parameter lengthSize: bytes of a length, 1 to 4.
    static func areWhole(_ bytes: UnsafeRawBufferPointer, lengthSize: Int = 4) -> Bool {
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset > lengthSize else { return false }
            let length = bytes[offset..<offset + lengthSize].reduce(0) { $0 << 8 | Int($1) }
            offset += lengthSize
            guard length > 0, length <= bytes.count - offset,
                !hasHole(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
            else { return false }
            offset += length
        }
        return true
    }

    /// Whether three bytes in a row are zero. Every third byte is enough to find one of them.
    private static func hasHole(_ whole: UnsafeRawBufferPointer) -> Bool {
        var end = whole.count
        while end > 0, whole.count - end < mostTrailing, whole[end - 1] == 0 { end -= 1 }
        let unit = UnsafeRawBufferPointer(rebasing: whole[..<end])
        var offset = 2
        while offset < unit.count {
            if unit[offset] == 0 {
                let before = unit[offset - 1] == 0 ? (unit[offset - 2] == 0 ? 2 : 1) : 0
                var after = 0
                while after < 2, offset + after + 1 < unit.count, unit[offset + after + 1] == 0 { after += 1 }
                if before + 1 + after >= 3 { return true }
            }
            offset += 3
        }
        return false
    }
}
