import Testing
import TransferTestSupport

@testable import TransferPictures

/// HEIC and AVIF, decoded by libheif where it is installed.
@Suite(.enabled(if: HEIFLibrary() != nil, "libheif is not installed")) struct HEIFDecoderTests {
    private static func make(_ bytes: [UInt8], side: Int = 32) throws -> Thumbnail {
        try bytes.withUnsafeBytes { try Thumbnail.make(from: $0, side: side, by: HEIFLibrary()) }
    }

    @Test(arguments: [HEIFSamples.heic, HEIFSamples.avif]) func everyQuarterIsInItsPlace(_ file: [UInt8]) throws {
        let thumbnail = try Self.make(file)
        #expect((thumbnail.width, thumbnail.height) == (32, 24))
        #expect(thumbnail.isWhole == true)
        #expect(try #require(PictureMaker.pixels(webP: thumbnail.webP)).quarters == "rgbw")
    }

    @Test func smallPicturesKeepTheirSize() throws {
        let thumbnail = try Self.make(HEIFSamples.avif, side: 320)
        #expect((thumbnail.width, thumbnail.height) == (64, 48))
    }

    @Test func panoramasAreDecoded() throws {
        let thumbnail = try Self.make(HEIFSamples.wide, side: 320)
        #expect((thumbnail.width, thumbnail.height) == (320, 1) && thumbnail.isWhole == true)
    }

    /// The header is not believed: viewers do not believe it either.
    @Test func theSizeIsThatOfThePixels() throws {
        var file = HEIFSamples.avif
        let size = try #require(file.firstRange(of: Array("ispe".utf8)))
        for offset in [4, 5, 6, 8, 9, 10] { file[size.upperBound + offset] = 0 }
        (file[size.upperBound + 7], file[size.upperBound + 11]) = (70, 50)
        guard let thumbnail = try? Self.make(file) else { return }
        #expect((thumbnail.facts.width, thumbnail.facts.height) == (64, 48))
    }

    @Test func turnsAreAppliedOnce() throws {
        let thumbnail = try Self.make(HEIFSamples.turned)
        #expect((thumbnail.width, thumbnail.height) == (24, 32))
        #expect((thumbnail.facts.shownSize.width, thumbnail.facts.shownSize.height) == (48, 64))
        #expect(try #require(PictureMaker.pixels(webP: thumbnail.webP)).quarters == "brwg")
    }

    @Test func transparencyStays() throws {
        let thumbnail = try Self.make(HEIFSamples.transparent)
        let pixels = try #require(PictureMaker.pixels(webP: thumbnail.webP))
        #expect(pixels.pixels.allSatisfy { (120...136).contains($0.w) })
    }

    /// A decoder makes some picture of every hole, and does not report it.
    @Test(arguments: [(HEIFSamples.heic, 20), (HEIFSamples.avif, 40)])
    func aHoleIsFound(_ sound: [UInt8], _ size: Int) throws {
        var file = sound
        let middle = file.count - size - 5
        for offset in middle..<middle + size { file[offset] = 0 }
        let thumbnail = try? Self.make(file)
        #expect(thumbnail?.isWhole != true)
    }

    @Test(arguments: [HEIFSamples.heic, HEIFSamples.avif]) func noCutPictureIsWhole(_ file: [UInt8]) {
        for count in 0..<file.count {
            let thumbnail = try? Self.make(Array(file[..<count]))
            #expect(thumbnail?.isWhole != true, "\(count) bytes")
        }
    }

    @Test(arguments: [HEIFSamples.heic, HEIFSamples.avif]) func flippedBytesEndNothing(_ file: [UInt8]) {
        for offset in file.indices {
            var flipped = file
            flipped[offset] ^= 0x55
            _ = try? Self.make(flipped)
        }
    }

    @Test func withoutTheLibraryTheyAreUnsupported() {
        #expect(HEIFLibrary(path: "libheif.so.missing") == nil)
        HEIFSamples.heic.withUnsafeBytes { bytes in
            let fault = #expect(throws: PictureFault.self) { try Thumbnail.make(from: bytes, side: 32) }
            #expect(fault?.code == .unsupported)
        }
    }
}

/// The lengths and units of HEVC.
@Suite struct HEVCUnitsTests {
    private static func isWhole(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { HEVCUnits.areWhole($0) } }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) func zerosAreFoundAnywhere(_ place: Int) {
        for count in 1...4 where place + count <= 10 {
            var unit = [UInt8](repeating: 1, count: 10)
            for offset in place..<place + count { unit[offset] = 0 }
            // Encoders may leave some at the end.
            let trailing = place + count == unit.count ? min(count, 3) : 0
            let isWhole = Self.isWhole([0, 0, 0, 2, 7, 7, 0, 0, 0, 10] + unit)
            #expect(isWhole == (count - trailing < 3), "\(count) at \(place)")
        }
    }

    @Test func lengthsHaveToLeadToTheEnd() {
        #expect(Self.isWhole([]))
        #expect(Self.isWhole([0, 0, 0, 1, 9]))
        #expect(!Self.isWhole([0, 0, 0, 2, 9]))
        #expect(!Self.isWhole([0, 0, 0, 0]))
        #expect(!Self.isWhole([0, 0, 0, 1, 9, 0]))
        #expect(!Self.isWhole([0xFF, 0xFF, 0xFF, 0xFF, 9]))
    }
}
