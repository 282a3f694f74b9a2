import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct PictureTests {
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        + [0, 0, 2, 0x80, 0, 0, 1, 0xE0, 8, 2, 0, 0, 0]
    private static let gif = Array("GIF89a".utf8) + [0x40, 0x01, 0xF0, 0x00, 0xF7, 0, 0]
    /// A segment, fill bytes, a table and the frame header.
    private static let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xFF, 0xC4, 0, 3, 9]
        + [0xFF, 0xC2, 0, 17, 8, 0x04, 0x38, 0x07, 0x80, 3]
    private static let simple = webp("VP8 ", [0, 0, 0, 0, 0, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0xE0, 0x41])
    private static let lossless = webp("VP8L", [0, 0, 0, 0, 0x2F, 0x7F, 0xC2, 0x77, 0x00])
    private static let extended = webp("VP8X", [10, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0x02, 0, 0xDF, 0x01, 0])

    @Test(arguments: [
        (png, Picture(format: .png, width: 640, height: 480)), (gif, Picture(format: .gif, width: 320, height: 240)),
        (jpeg, Picture(format: .jpeg, width: 1920, height: 1080)),
        (simple, Picture(format: .webp, width: 640, height: 480)),
        (lossless, Picture(format: .webp, width: 640, height: 480)),
        (extended, Picture(format: .webp, width: 640, height: 480)),
    ])
    func formats(_ bytes: [UInt8], _ expected: Picture) {
        #expect(picture(bytes) == expected)
        #expect(picture(bytes + [0, 1, 2]) == expected)
    }

    /// A file that is cut anywhere or has any changed byte never causes a read out of bounds.
    @Test(arguments: [png, gif, jpeg, simple, lossless, extended])
    func damage(_ bytes: [UInt8]) {
        var whole = 0
        for count in 0..<bytes.count where picture(Array(bytes[..<count])) != nil { whole += 1 }
        #expect(whole < bytes.count / 2)
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 0x7F, 0xFF] {
                var changed = bytes
                changed[index] = value
                _ = picture(changed)
            }
        }
    }

    @Test func randomBytes() {
        var generator = SplitMix64(seed: 11)
        for _ in 0..<20_000 {
            let start = [[0xFF, 0xD8, 0xFF], Array("RIFF1234WEBPVP8".utf8), Array("GIF89a".utf8)].randomElement(
                using: &generator)
            _ = picture((start ?? []) + generator.bytes(Int.random(in: 0..<64, using: &generator)))
        }
    }

    @Test func whatHasNoSize() {
        #expect(picture([]) == nil)
        #expect(picture(Array("no picture at all".utf8)) == nil)
        var empty = Self.png
        for index in 16..<20 { empty[index] = 0 }
        #expect(picture(empty) == nil)
        #expect(picture([0xFF, 0xD8, 0xFF, 0xDA, 0, 2] + Self.jpeg.dropFirst(2)) == nil, "behind the picture itself")
        #expect(picture([0xFF, 0xD8, 0xFF, 0xE0, 0, 0]) == nil)
    }

    private func picture(_ bytes: [UInt8]) -> Picture? { bytes.withUnsafeBytes { Picture($0) } }

    private static func webp(_ kind: String, _ rest: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP\(kind)".utf8) + rest
    }
}
