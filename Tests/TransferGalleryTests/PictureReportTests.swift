import Testing
import TransferModel
import TransferPictures
import TransferTestSupport

@testable import TransferGallery

/// The report of a decoder, which may have been taken over by a picture.
@Suite struct PictureReportTests {
    /// A file of WebP with 1 x 1 pixel, without losses.
    static let webP: [UInt8] =
        Array("RIFF".utf8) + [26, 0, 0, 0] + Array("WEBPVP8L".utf8) + [13, 0, 0, 0]
        + [0x2F, 0, 0, 0, 0x10, 7, 0x10, 0x11, 0x11, 0x88, 0x88, 0xFE, 7, 0]

    static var summary: PictureSummary {
        var summary = PictureSummary(format: .jpeg, width: 4032, height: 3024)
        (summary.taken, summary.offset, summary.camera) = ("2026-01-31T18:30:05", -90, "Canon EOS \"R5\"")
        (summary.hasLocation, summary.isAnimated, summary.colour) = (true, true, 0x0A0B0C)
        summary.isDecoded = false
        return summary
    }

    static var complete: PictureReport { PictureReport(summary: summary, thumbnail: webP) }

    private static func report(_ json: String, _ file: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(json.utf8.count))
        bytes += json.utf8
        bytes.append(bigEndian: UInt32(file.count))
        return bytes + file
    }

    private static let facts = #""format":"png","width":1,"height":1"#

    @Test func aReportIsReadBack() {
        #expect(PictureReport(untrusted: Self.complete.bytes, side: 320) == Self.complete)
        // The memory that it is written into is larger.
        let padded = Self.complete.bytes + [UInt8](repeating: 0, count: 100)
        #expect(PictureReport(untrusted: padded, side: 320) == Self.complete)
    }

    @Test(arguments: PictureRefusal.allCases) func aRefusalIsReadBack(_ refusal: PictureRefusal) {
        let report = PictureReport(refusal: refusal)
        #expect(PictureReport(untrusted: report.bytes, side: 320) == report)
        #expect(!refusal.message.isEmpty)
    }

    @Test func headersAloneAreEnoughWithoutAThumbnail() {
        var summary = Self.summary
        summary.colour = nil
        let report = PictureReport(summary: summary)
        #expect(PictureReport(untrusted: report.bytes, side: nil) == report)
        // But not if one was wanted.
        #expect(PictureReport(untrusted: report.bytes, side: 320) == nil)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"refusal":"other"}"#, #"{"refusal":3}"#, #"{"width":1,"height":1}"#,
        #"{"format":"tiff","width":1,"height":1}"#, #"{"format":"png","width":0,"height":1}"#,
        #"{"format":"png","width":1e3,"height":1}"#, #"{"format":"png","width":99999999999999999999,"height":1}"#,
        #"{"format":"png","width":-1,"height":1}"#, #"{"format":"png","width":"1","height":1}"#,
        #"{"format":"png","width":1,"height":1,"taken":"yesterday"}"#,
        #"{"format":"png","width":1,"height":1,"taken":"2026-01-31T18:30:05<script>"}"#,
        #"{"format":"png","width":1,"height":1,"taken":"2026-01-31 18:30:05"}"#,
        #"{"format":"png","width":1,"height":1,"camera":""}"#,
        #"{"format":"png","width":1,"height":1,"camera":"a\nb"}"#,
        #"{"format":"png","width":1,"height":1,"camera":"\u0000"}"#,
        #"{"format":"png","width":1,"height":1,"other":{"deep":{}}}"#,
    ])
    func nonsenseIsNoReport(_ json: String) {
        #expect(PictureReport(untrusted: Self.report(json), side: nil) == nil)
    }

    @Test func aLongCameraIsNoReport() {
        let json = "{\(Self.facts),\"camera\":\"\(String(repeating: "x", count: 129))\"}"
        #expect(PictureReport(untrusted: Self.report(json), side: nil) == nil)
    }

    @Test func onlyASmallWebPWithoutMetadataIsAThumbnail() {
        func read(_ file: [UInt8], side: Int?) -> PictureReport? {
            PictureReport(untrusted: Self.report("{\(Self.facts)}", file), side: side)
        }
        #expect(read(Self.webP, side: 16)?.thumbnail == Self.webP)
        #expect(read(Self.webP, side: nil) == nil)
        #expect(read(Array("<html>".utf8), side: 16) == nil)
        #expect(read([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10], side: 16) == nil)
        #expect(read(Array(Self.webP.dropLast(8)), side: 16) == nil)
        #expect(read(Self.webP + Array("<script>".utf8), side: 16) == nil)
        var wide = Self.webP
        // The width minus one is in the lowest 14 bits behind the signature.
        (wide[21], wide[22]) = (0xFF, 0x01)
        #expect(read(wide, side: 320) == nil)
    }

    @Test func aThumbnailOfWhatIsNoPictureIsNoReport() {
        #expect(PictureReport(untrusted: Self.report("{}", Self.webP), side: 16) == nil)
        let both = #"{"format":"png","width":1,"height":1,"refusal":"damaged"}"#
        #expect(PictureReport(untrusted: Self.report(both, Self.webP), side: 16) == nil)
    }

    /// Every beginning of a report, and reports with one changed byte, are read or refused.
    @Test func damagedReportsDoNoHarm() {
        let bytes = Self.complete.bytes
        for count in bytes.indices { _ = PictureReport(untrusted: Array(bytes[..<count]), side: 320) }
        var random = SplitMix64(seed: 7)
        for _ in 0..<20_000 {
            var changed = bytes
            changed[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            if let report = PictureReport(untrusted: changed, side: 320) {
                #expect(report.thumbnail?.count ?? 0 <= PictureLimits.thumbnailSize)
            }
        }
    }

    @Test func entriesShowWhatIsKnown() {
        #expect(
            Self.summary.json.text
                == #"{"format":"jpeg","width":4032,"height":3024,"taken":"2026-01-31T18:30:05","offset":-90,"#
                + ##""camera":"Canon EOS \"R5\"","location":true,"animated":true,"decoded":false,"colour":"#0a0b0c"}"##)
    }
}
