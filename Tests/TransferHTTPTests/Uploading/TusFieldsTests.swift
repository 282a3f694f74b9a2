import Testing
import TransferHTTP
import TransferTestSupport

/// Reading and writing the fields of tus 1.0.0.
@Suite struct TusFieldsTests {
    private static func fields(_ fields: [(String, String)]) -> HTTPFields {
        HTTPFields(fields.map { HTTPField(name: $0.0, value: Array($0.1.utf8)) })
    }

    // MARK: Numbers

    @Test(arguments: [("0", UInt64(0)), ("100", 100), ("9223372036854775807", 9_223_372_036_854_775_807)])
    func numbers(_ text: String, _ number: UInt64) throws {
        #expect(try UploadNumber.offset(Self.fields([("upload-offset", text)])) == number)
        #expect(try UploadNumber.length(Self.fields([("upload-length", text)])) == number)
    }

    static let notNumbers: [(String, Comment)] = [
        ("", "nothing"), ("-1", "a sign"), ("+1", "a sign"), ("9223372036854775808", "more than Int64.max"),
        ("99999999999999999999999999", "more digits than 64 bits have"), ("007", "zeros in front"),
        ("00", "zeros in front"),
        ("1.0", "a fraction"), ("1e3", "an exponent"), ("0x10", "hexadecimal"), ("1 000", "a blank"),
        ("1;a=b", "a parameter"), ("1,1", "two"),
        ("١", "digits of another script"),
    ]

    @Test(arguments: notNumbers) func refusedNumbers(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) {
            try UploadNumber.offset(Self.fields([("upload-offset", text)]))
        }
        #expect(fault?.status == 400)
        #expect(throws: HTTPFault.self, reason) { try UploadNumber.length(Self.fields([("upload-length", text)])) }
    }

    @Test func missingAndTwice() throws {
        #expect(try UploadNumber.offset(HTTPFields()) == nil)
        #expect(try UploadNumber.length(HTTPFields()) == nil)
        #expect(throws: HTTPFault.self) {
            try UploadNumber.offset(Self.fields([("upload-offset", "1"), ("upload-offset", "1")]))
        }
    }

    @Test func declaredLengths() throws {
        #expect(try UploadDeclaredLength(Self.fields([("upload-length", "5")])) == .known(5))
        #expect(try UploadDeclaredLength(Self.fields([("upload-defer-length", "1")])) == .deferred)
        for refused in [
            [], [("upload-defer-length", "0")], [("upload-defer-length", "01")], [("upload-defer-length", "")],
            [("upload-length", "5"), ("upload-defer-length", "1")], [("upload-length", "x")],
        ] {
            let fault = #expect(throws: HTTPFault.self) { try UploadDeclaredLength(Self.fields(refused)) }
            #expect(fault?.status == 400)
        }
    }

    @Test func versions() {
        #expect(throws: Never.self) { try TusVersion.check(Self.fields([("tus-resumable", "1.0.0")])) }
        for refused in [[], [("tus-resumable", "0.2.2")], [("tus-resumable", "1.0")], [("tus-resumable", "1.0.0 ")]] {
            #expect(throws: HTTPFault(412, "Tus-Resumable is not 1.0.0.")) {
                try TusVersion.check(Self.fields(refused))
            }
        }
        #expect(throws: HTTPFault.self) {
            try TusVersion.check(Self.fields([("tus-resumable", "1.0.0"), ("tus-resumable", "1.0.0")]))
        }
    }

    // MARK: Metadata

    @Test func metadata() throws {
        let text = "filename d29ybGRfZG9taW5hdGlvbl9wbGFuLnBkZg==,is_confidential"
        let metadata = try UploadMetadata(text)
        #expect(metadata.text == text)
        #expect(metadata.pairs.map(\.key) == ["filename", "is_confidential"])
        #expect(try metadata.string("filename") == "world_domination_plan.pdf")
        #expect(metadata["is_confidential"]?.isEmpty == true)
        #expect(try metadata.string("is_confidential") == nil)
        #expect(metadata["none"] == nil)
    }

    static let metadataForms: [(String, [String])] = [
        ("", []), ("  ", []), ("a", ["a"]), ("a ", ["a"]), ("a YQ==, b", ["a", "b"]), ("a,b ,c YQ==", ["a", "b", "c"]),
        ("a/b;c= YQ==", ["a/b;c="]),
    ]

    @Test(arguments: metadataForms) func forms(_ text: String, _ keys: [String]) throws {
        #expect(try UploadMetadata(text).pairs.map(\.key) == keys)
    }

    static let refusedMetadata: [(String, Comment)] = [
        (",", "no keys"), ("a,", "no key"), (",a", "no key"), ("a,,b", "no key"), ("a YQ==,a", "a key twice"),
        ("a YQ", "no padding"),
        ("a YR==", "bits that are left over"), ("a  YQ==", "two blanks"), ("a YQ== b", "three words"),
        ("a Y!==", "no base64"), ("ä YQ==", "no ASCII"),
        ("a\tYQ==", "a tab"), ("a YQ-_", "the alphabet of URLs"), ("a\0 YQ==", "a control"),
    ]

    @Test(arguments: refusedMetadata) func refusals(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try UploadMetadata(text) }
        #expect(fault?.status == 400)
    }

    @Test(arguments: [(63, true), (64, true), (65, false)]) func mostPairs(_ count: Int, _ fits: Bool) {
        let text = (0..<count).map { "k\($0)" }.joined(separator: ",")
        #expect(((try? UploadMetadata(text)) != nil) == fits)
    }

    @Test(arguments: [
        (UploadMetadata.longest - 1, true), (UploadMetadata.longest, true), (UploadMetadata.longest + 1, false),
    ])
    func longest(_ count: Int, _ fits: Bool) {
        #expect(((try? UploadMetadata(String(repeating: "k", count: count))) != nil) == fits)
    }

    @Test(arguments: ["/w==", "AA==", "YQBi"]) func notText(_ digits: String) throws {
        let metadata = try UploadMetadata("filename \(digits)")
        #expect(metadata["filename"] != nil)
        #expect(throws: HTTPFault.self) { try metadata.string("filename") }
    }

    @Test(arguments: [("/w==", "is not UTF-8"), ("YQBi", "has a NUL byte")])
    func saysWhyAValueIsNotText(_ digits: String, _ reason: String) throws {
        let metadata = try UploadMetadata("name \(digits)")
        #expect(throws: HTTPFault(400, "The value of 'name' in Upload-Metadata \(reason).")) {
            try metadata.string("name")
        }
    }

    // MARK: Checksums

    @Test func checksums() throws {
        let checksum = try UploadChecksum("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
        #expect(checksum.algorithm == "sha1" && checksum.digest.count == 20 && checksum.digest.first == 0x2A)
        #expect(try UploadChecksum("SHA1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=") == checksum)
        #expect(try UploadChecksum("crc32 AAAAAA==").digest == [0, 0, 0, 0])
        #expect(try UploadChecksum("xxh3-128 YQ==").digest == [0x61])
    }

    static let refusedChecksums: [(String, Comment)] = [
        ("", "nothing"), ("sha1", "no digest"), ("sha1 ", "no digest"), ("sha1 YQ==", "one byte"),
        ("sha1  Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "two blanks"),
        ("sha1,Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "a comma"), ("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0", "no padding"),
        ("crc32 AAAA", "three bytes"),
        (" YQ==", "no algorithm"), ("a(b YQ==", "no token"),
        ("x \(Base64Text.encode(Array(repeating: 1, count: 65)))", "65 bytes"), ("md5 YQ==", "one byte"),
        ("sha256 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "20 bytes"), ("sha512 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "20 bytes"),
    ]

    @Test(arguments: refusedChecksums) func checksumRefusals(_ text: String, _ reason: Comment) {
        let fault = #expect(throws: HTTPFault.self, reason) { try UploadChecksum(text) }
        #expect(fault?.status == 400)
    }

    // MARK: Concatenation

    @Test func concatenation() throws {
        #expect(try UploadConcat("partial") == .partial)
        #expect(try UploadConcat("final;/files/a /files/b") == .final(["/files/a", "/files/b"]))
        #expect(try UploadConcat("final; https://a/b  c") == .final(["https://a/b", "c"]))
    }

    @Test(arguments: [
        "", "Partial", "partial;", "final", "final;", "final; ", "final;\t/a", "final;/ä", "other;/a", "final:/a",
    ])
    func refusedConcatenations(_ text: String) {
        let fault = #expect(throws: HTTPFault.self) { try UploadConcat(text) }
        #expect(fault?.status == 400)
    }

    @Test(arguments: [(999, true), (1000, true), (1001, false)]) func mostPieces(_ count: Int, _ fits: Bool) {
        let text = "final;" + Array(repeating: "/a", count: count).joined(separator: " ")
        #expect(((try? UploadConcat(text)) != nil) == fits)
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func randomText(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<2000 {
            let text = String(decoding: generator.bytes(Int.random(in: 0...20, using: &generator)), as: UTF8.self)
            for prefix in ["", "a ", "final;", "sha1 "] {
                _ = try? UploadMetadata(prefix + text)
                _ = try? UploadChecksum(prefix + text)
                _ = try? UploadConcat(prefix + text)
                _ = try? UploadNumber.bytes(prefix + text, "Upload-Offset")
            }
        }
    }
}
