/// Bech32 (BIP 173) with its original checksum, as age writes keys: a prefix, `1`, and bytes as digits of five bits
/// with a checksum of 30 bits, all in one case.
enum Bech32 {
    /// The digits for 0 to 31.
    private static let digits = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)

    /// Value of each byte as a digit; 255 for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    private static let checksumSize = 6

    /// Most characters, as in BIP 173; more than any key has.
    private static let longest = 90

    /// - Parameter prefix: no upper case letters.
    /// - Returns: the text in lower case.
    static func encode(_ prefix: String, _ bytes: [UInt8]) -> String {
        text(prefix, groups: regroup(bytes, from: 8, to: 5) + padding(bytes))
    }

    /// - Parameter data: values of five bits.
    static func text(_ prefix: String, groups data: [UInt8]) -> String {
        let checksum = checksum(of: spread(prefix.utf8) + data + [UInt8](repeating: 0, count: checksumSize))
        let tail = (0..<checksumSize).map { UInt8(truncatingIfNeeded: checksum >> UInt32(25 - 5 * $0) & 31) }
        return prefix + "1" + String(decoding: (data + tail).map { digits[Int($0 & 31)] }, as: UTF8.self)
    }

    /// Reads what `encode` writes, in either case, but not mixed.
    ///
    /// - Returns: the prefix as written, and the bytes; nil for any other text.
    static func decode(_ text: String) -> (prefix: String, bytes: [UInt8])? {
        let characters = Array(text.utf8)
        guard characters.count <= longest, characters.allSatisfy({ 33...126 ~= $0 }), hasOneCase(characters),
            let mark = characters.lastIndex(of: UInt8(ascii: "1")), mark > 0
        else { return nil }
        let lowered = characters.map(lowercased)
        let data = lowered[(mark + 1)...].map { values[Int($0)] }
        guard data.count >= checksumSize, !data.contains(255),
            checksum(of: spread(lowered[..<mark]) + data) == 0
        else { return nil }
        let groups = Array(data.dropLast(checksumSize))
        let bytes = regroup(groups, from: 5, to: 8)
        // Unused bits must be zero, and fewer than in a digit.
        guard regroup(bytes, from: 8, to: 5) + padding(bytes) == groups else { return nil }
        return (String(decoding: characters[..<mark], as: UTF8.self), bytes)
    }

    private static func hasOneCase(_ characters: [UInt8]) -> Bool {
        let hasLarge = characters.contains { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
        let hasSmall = characters.contains { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }
        return !(hasLarge && hasSmall)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    /// Regroups bits and drops an incomplete last group.
    private static func regroup(_ groups: [UInt8], from: UInt32, to: UInt32) -> [UInt8] {
        var (regrouped, bits, held): ([UInt8], UInt32, UInt32) = ([], 0, 0)
        for group in groups {
            bits = (bits << from | UInt32(group)) & 0xFFF
            held += from
            while held >= to {
                held -= to
                regrouped.append(UInt8(truncatingIfNeeded: bits >> held & (1 << to - 1)))
            }
        }
        return regrouped
    }

    /// The digit for the bits after the last whole digit, if any.
    private static func padding(_ bytes: [UInt8]) -> [UInt8] {
        let over = bytes.count * 8 % 5
        guard over > 0, let last = bytes.last else { return [] }
        return [last << UInt8(5 - over) & 31]
    }

    /// The prefix in the form that the checksum covers: the high bits, a zero, the low bits.
    private static func spread(_ prefix: some Collection<UInt8>) -> [UInt8] {
        prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 31 }
    }

    /// The remainder of the code's polynomial; zero for a valid text with its checksum.
    private static func checksum(of values: [UInt8]) -> UInt32 {
        let generator: [UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]
        var remainder: UInt32 = 1
        for value in values {
            let top = remainder >> 25
            remainder = (remainder & 0x1FF_FFFF) << 5 ^ UInt32(value)
            for (bit, term) in generator.enumerated() where top >> UInt32(bit) & 1 == 1 { remainder ^= term }
        }
        return remainder ^ 1
    }
}
