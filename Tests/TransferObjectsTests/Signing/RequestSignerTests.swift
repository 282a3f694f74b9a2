import Testing
import TransferHTTP
import TransferModel

@testable import TransferObjects

/// Examples that AWS publishes.
@Suite struct RequestSignerTests {
    /// The examples of "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk" in
    /// the S3 API reference.
    struct S3Example: Sendable, CustomTestStringConvertible {
        let name: String
        let method: HTTPMethod
        let path: String
        var query: [(name: String, value: String)] = []
        var fields: [(name: String, value: String)] = []
        var content = ""
        /// Digest of the canonical request, as printed in the string to sign.
        var canonical: String?
        let signature: String

        var testDescription: String { name }
    }

    static let s3Examples = [
        S3Example(
            name: "GET Object", method: .get, path: "/test.txt", fields: [("range", "bytes=0-9")],
            canonical: "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        S3Example(
            name: "PUT Object", method: .put, path: "/test$file.text",
            fields: [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            content: "Welcome to Amazon S3.",
            canonical: "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        S3Example(
            name: "GET Bucket Lifecycle", method: .get, path: "/", query: [("lifecycle", "")],
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        S3Example(
            name: "GET Bucket (List Objects)", method: .get, path: "/", query: [("prefix", "J"), ("max-keys", "2")],
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: s3Examples) func signsTheExamplesOfS3(example: S3Example) throws {
        let credentials = try #require(
            Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
        let time = try #require(UTCTime("2013-05-24T00:00:00Z"))
        let digest = SHA256Digest(of: Array(example.content.utf8)).description
        let request = RequestSigner.Request(
            method: example.method, path: example.path, query: example.query,
            fields: [
                ("x-amz-date", RequestSigner.stamp(time)), ("host", "examplebucket.s3.amazonaws.com"),
                ("x-amz-content-sha256", digest),
            ] + example.fields, payload: digest)
        if let canonical = example.canonical {
            #expect(SHA256Digest(of: Array(request.canonicalText.utf8)).description == canonical)
        }
        let value = RequestSigner(region: "us-east-1").authorization(request, credentials, at: time)
        let scope = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        #expect(value.hasPrefix(scope))
        #expect(value.hasSuffix("Signature=\(example.signature)"))
    }

    /// Cases of the "AWS Signature Version 4 test suite".
    struct SuiteCase: Sendable, CustomTestStringConvertible {
        let name: String
        var method = HTTPMethod.get
        var query: [(name: String, value: String)] = []
        var fields: [(name: String, value: String)] = []
        let signature: String

        var testDescription: String { name }
    }

    static let suite = [
        SuiteCase(name: "get-vanilla", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        SuiteCase(
            name: "get-vanilla-query-order-key-case", query: [("Param2", "value2"), ("Param1", "value1")],
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        SuiteCase(
            name: "post-vanilla", method: .post,
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        SuiteCase(
            name: "post-sts-header-before", method: .post,
            fields: [
                (
                    "x-amz-security-token",
                    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
                )
            ],
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    ]

    @Test(arguments: suite) func signsTheCasesOfTheSuite(example: SuiteCase) throws {
        let credentials = try #require(
            Credentials(accessKey: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
        let time = try #require(UTCTime("2015-08-30T12:36:00Z"))
        let request = RequestSigner.Request(
            method: example.method, path: "/", query: example.query,
            fields: [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")] + example.fields,
            payload: SHA256Digest(of: []).description)
        let value = RequestSigner(region: "us-east-1", service: "service").authorization(
            request, credentials, at: time)
        #expect(value.hasSuffix("Signature=\(example.signature)"))
    }

    @Test func encodesPathAndQueryOnce() {
        let request = RequestSigner.Request(
            method: .get, path: "/b/a b/ä%2F$~.txt",
            query: [("start-after", "x/y +&="), ("max-keys", "10"), ("Z", "1"), ("a", "2"), ("a", "1")], fields: [],
            payload: "")
        #expect(request.canonicalPath == "/b/a%20b/%C3%A4%252F%24~.txt")
        #expect(request.canonicalQuery == "Z=1&a=1&a=2&max-keys=10&start-after=x%2Fy%20%2B%26%3D")
        #expect(request.target == request.canonicalPath + "?" + request.canonicalQuery)
    }

    @Test func joinsSpacesInSignedValues() {
        let request = RequestSigner.Request(
            method: .get, path: "/", fields: [("b", "  a   b c  "), ("a", "1")], payload: "")
        #expect(request.canonicalText == "GET\n/\n\na:1\nb:a b c\n\na;b\n")
    }
}

@Suite struct DigestsTests {
    /// Examples of FIPS 180-4 and RFC 1321.
    @Test func digests() {
        #expect(
            SHA256Digest(of: Array("abc".utf8)).description
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        var hasher = DigestHasher(.md5)
        Array("abc".utf8).withUnsafeBytes { hasher.update($0) }
        #expect(String(hexadecimal: hasher.finish()) == "900150983cd24fb0d6963f7d28e17f72")
    }

    /// Test case 2 of RFC 4231.
    @Test func authenticates() {
        let code = authenticationCode(Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(
            String(hexadecimal: code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func takesOnlyWholeDigests() {
        #expect(SHA256Digest([1, 2]) == nil)
        #expect(SHA256Digest([UInt8](repeating: 1, count: 32)) != nil)
    }
}
