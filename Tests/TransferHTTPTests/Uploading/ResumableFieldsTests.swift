import Testing
import TransferHTTP

/// Reading and writing the fields of draft-ietf-httpbis-resumable-upload.
@Suite struct ResumableFieldsTests {
    private static func fields(_ fields: [(String, String)]) -> HTTPFields {
        HTTPFields(fields.map { HTTPField(name: $0.0, value: Array($0.1.utf8)) })
    }

    static let versions: [(String, Int64?)] = [
        ("2", nil), ("3", 3), ("4", 4), ("5", 5), ("6", 6), ("7", 7), ("8", 8), ("9", 9), ("10", nil), ("-3", nil),
        ("3.0", nil), ("?1", nil), ("", nil),
        ("three", nil), ("3, 4", nil), ("999999999999999", nil),
    ]

    @Test(arguments: versions) func interop(_ text: String, _ version: Int64?) {
        let interop = ResumableInterop(Self.fields([("upload-draft-interop-version", text)]))
        #expect(interop?.version == version)
        #expect(interop?.text == version.map { "\($0)" })
        #expect(interop?.saysIncomplete == version.map { $0 == 3 })
        #expect(interop?.hasContentType == version.map { $0 >= 6 })
    }

    @Test func noInterop() {
        #expect(ResumableInterop(HTTPFields()) == nil)
        let name = "upload-draft-interop-version"
        #expect(ResumableInterop(Self.fields([(name, "6"), (name, "6")])) == nil, "twice")
    }

    @Test func complete() throws {
        let old = ResumableInterop(3)
        for interop in [nil, ResumableInterop(4), ResumableInterop(9)] {
            #expect(try UploadComplete.value(Self.fields([("upload-complete", "?1")]), interop) == true)
            #expect(try UploadComplete.value(Self.fields([("upload-complete", "?0")]), interop) == false)
            #expect(try UploadComplete.value(Self.fields([("upload-incomplete", "?0")]), interop) == nil)
            #expect(UploadComplete.name(interop) == "Upload-Complete")
            #expect(UploadComplete.text(true, interop) == "?1" && UploadComplete.text(false, interop) == "?0")
        }
        #expect(try UploadComplete.value(Self.fields([("upload-incomplete", "?1")]), old) == false)
        #expect(try UploadComplete.value(Self.fields([("upload-incomplete", "?0")]), old) == true)
        #expect(try UploadComplete.value(Self.fields([("upload-complete", "?1")]), old) == nil)
        #expect(UploadComplete.name(old) == "Upload-Incomplete")
        #expect(UploadComplete.text(true, old) == "?0" && UploadComplete.text(false, old) == "?1")
    }

    @Test(arguments: ["", "1", "true", "?2", "?1,?1", "\"?1\"", "??1"]) func notBooleans(_ text: String) {
        let fault = #expect(throws: HTTPFault.self) {
            try UploadComplete.value(Self.fields([("upload-complete", text)]), nil)
        }
        #expect(fault == HTTPFault(400, "Upload-Complete is not a boolean."))
        #expect(throws: HTTPFault.self) {
            try UploadComplete.value(Self.fields([("upload-incomplete", text)]), ResumableInterop(3))
        }
    }

    @Test func booleanTwice() {
        #expect(throws: HTTPFault.self) {
            try UploadComplete.value(Self.fields([("upload-complete", "?1"), ("upload-complete", "?1")]), nil)
        }
    }

    @Test func limits() {
        #expect(UploadLimit().text.isEmpty)
        #expect(UploadLimit(maxSize: 1_000_000_000).text == "max-size=1000000000")
        #expect(
            UploadLimit(maxSize: 1, minSize: 2, maxAppendSize: 3, minAppendSize: 4, maxAge: 5).text
                == "max-size=1, min-size=2, max-append-size=3, min-append-size=4, max-age=5")
        #expect(UploadLimit(maxSize: .max).text == "max-size=999999999999999", "15 digits")
        #expect(
            UploadLimit(maxSize: 999_999_999_999_999, minSize: 1_000_000_000_000_000).text
                == "max-size=999999999999999, min-size=999999999999999")
    }

    @Test func problems() {
        func text(_ problem: ResumableProblem) -> String { String(decoding: problem.details.bytes, as: UTF8.self) }
        #expect(
            text(.mismatchingOffset(expected: 100, provided: 200))
                == #"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","#
                + #""title":"offset from request does not match offset of resource","status":409,"#
                + #""expected-offset":100,"provided-offset":200}"# + "\n")
        #expect(
            text(.inconsistentLength)
                == #"{"type":"https://iana.org/assignments/http-problem-types#inconsistent-upload-length","#
                + #""title":"inconsistent length values for upload","status":400}"# + "\n")
        #expect(
            text(.completedUpload)
                == #"{"type":"https://iana.org/assignments/http-problem-types#completed-upload","#
                + #""title":"upload is already completed","status":400}"# + "\n")
    }
}
