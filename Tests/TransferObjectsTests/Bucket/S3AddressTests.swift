import Testing
import TransferHTTP

@testable import TransferObjects

@Suite struct S3AddressTests {
    private static func address(
        _ text: String, _ options: S3Address.Options = .init(), _ environment: [String: String] = ["AWS_REGION": "r"]
    ) throws(ObjectError) -> S3Address {
        try S3Address(text, options, environment: environment)
    }

    @Test(arguments: [
        ("s3://bucket", "bucket", ""), ("s3://bucket/", "bucket", ""), ("s3://b.c-1/a", "b.c-1", "a"),
        ("s3://bucket/a/B_c.d/", "bucket", "a/B_c.d"), ("s3://bucket//a", "bucket", "a"),
    ])
    func readsLocations(text: String, bucket: String, prefix: String) throws {
        let address = try Self.address(text)
        #expect(address.bucket == bucket)
        #expect(address.prefix == prefix)
    }

    @Test(arguments: [
        "", "bucket", "s3:/bucket", "S3://bucket", "s3://", "s3:///a", "s3://ab", "s3://Bucket", "s3://buck_et",
        "s3://-bucket", "s3://bucket-", "s3://bu..cket", "s3://192.168.0.1", "s3://bücket", "s3://bucket/a//b",
        "s3://bucket/a b", "s3://bucket/../a", "s3://bucket/.", "s3://bucket/ä", "s3://bucket/a?b",
        "s3://bucket/a\n", "s3://\(String(repeating: "b", count: 64))",
        "s3://bucket/\(String(repeating: "p", count: 513))",
    ])
    func refusesLocations(text: String) {
        #expect(failure { () throws(ObjectError) in _ = try Self.address(text) }?.reason == .misconfigured)
    }

    @Test func choosesAmazon() throws {
        let address = try Self.address("s3://bucket/p", .init(), ["AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": ""])
        #expect(address.region == "eu-west-1")
        #expect(address.style == .host)
        #expect(address.server?.hostField == "bucket.s3.eu-west-1.amazonaws.com")
        #expect(address.server?.isSecure == true)
        #expect(address.bucketPath == "")
        #expect("\(address)" == "s3://bucket/p at s3.eu-west-1.amazonaws.com")
        #expect(try Self.address("s3://buc.ket").style == .path)
    }

    @Test func choosesOtherEngines() throws {
        let environment = ["AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_S3": "http://b:2"]
        let address = try Self.address("s3://bucket", .init(), environment)
        #expect(address.region == "us-east-1")
        #expect(address.style == .path)
        #expect(address.server?.hostField == "b:2")
        #expect(address.bucketPath == "/bucket")
        let other = try Self.address(
            "s3://bucket", .init(endpoint: "https://c:443", region: "auto", style: .host), environment)
        #expect(other.server?.hostField == "bucket.c")
        #expect(other.region == "auto")
        let port = try Self.address("s3://bucket", .init(endpoint: "http://c:9000", style: .host), environment)
        #expect(port.server?.hostField == "bucket.c:9000")
    }

    @Test(
        arguments: [
            ("ftp://a", nil), ("https://a/path", nil), ("https://u:p@a", nil), ("a:9000", nil), ("https://a", "EU"),
            ("https://a", "r/s"), ("https://a", String(repeating: "r", count: 64)),
        ] as [(String, String?)])
    func refusesOptions(endpoint: String, region: String?) {
        let error = failure { () throws(ObjectError) in
            _ = try Self.address("s3://bucket", .init(endpoint: endpoint, region: region), [:])
        }
        #expect(error?.reason == .misconfigured)
    }

    @Test func needsARegionForAmazon() {
        let error = failure { () throws(ObjectError) in _ = try Self.address("s3://bucket", .init(), [:]) }
        #expect(error?.message == "The region of the bucket is missing: set AWS_REGION.")
    }
}

@Suite struct ObjectPortTests {
    @Test(arguments: ["a", "a/b", "ä b+%", "...", "a..b", String(repeating: "k", count: 1024)])
    func acceptsKeys(text: String) { #expect(ObjectKey(text)?.text == text) }

    @Test(arguments: [
        "", "/a", "a/", "a//b", ".", "..", "a/./b", "../a", "a\nb", "a\0", "a\u{7F}",
        String(repeating: "k", count: 1025),
    ])
    func refusesKeys(text: String) { #expect(ObjectKey(text) == nil) }

    /// Strings that are equal in Unicode may have different bytes, and are different keys.
    @Test func comparesBytes() throws {
        let (composed, decomposed) = (try ObjectKey.of("\u{E9}"), try ObjectKey.of("e\u{301}"))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        #expect(try ObjectKey.of("a-b") < ObjectKey.of("a/b"))
    }

    @Test func encodesMetadata() throws {
        let metadata = try #require(ObjectMetadata(["path": "a/ö %", "id-2": "", "n": "\n"]))
        let fields = metadata.fields.map { "\($0.name): \($0.value)" }
        #expect(fields == ["x-amz-meta-id-2: ", "x-amz-meta-n: %0A", "x-amz-meta-path: a%2F%C3%B6%20%25"])
        var answer = HTTPFields()
        for field in metadata.fields { answer.append(field.name.uppercased(), field.value) }
        // Fields that this type cannot have written.
        answer.append("x-amz-meta-", "1")
        answer.append("x-amz-meta-a_b", "1")
        answer.append("x-amz-meta-bad", "%4")
        answer.append("x-amz-meta-latin", "%E4")
        answer.append("x-amz-version-id", "1")
        #expect(ObjectMetadata(answer) == metadata)
    }

    @Test(arguments: [["": "a"], ["A": "a"], ["a b": "a"], ["ä": "a"], ["a": String(repeating: "v", count: 2037)]])
    func refusesMetadata(values: [String: String]) { #expect(ObjectMetadata(values) == nil) }

    @Test func boundsMetadata() {
        #expect(ObjectMetadata(["a": String(repeating: "v", count: 2036)]) != nil)
        // Each of these characters becomes six bytes.
        #expect(ObjectMetadata(["a": String(repeating: "ö", count: 340)]) == nil)
    }

    @Test func digestsContentOnce() throws {
        let bytes = Array("abc".utf8)
        #expect(try ObjectContent([[0x61], [], [0x62, 0x63]]).sha256 == SHA256Digest(of: bytes))
        try bytes.withUnsafeBytes { bytes in
            let content = try ObjectContent(
                size: 3, from: .buffers([bytes, UnsafeRawBufferPointer(start: nil, count: 0)]))
            #expect(content.sha256 == SHA256Digest(of: Array(bytes)))
        }
        let known = SHA256Digest(of: [])
        #expect(try ObjectContent([bytes], sha256: known).sha256 == known)
        // Bytes behind the announced size are not part of the content.
        #expect(try ObjectContent(size: 2, from: .arrays([bytes])).sha256 == SHA256Digest(of: [0x61, 0x62]))
    }

    @Test func noticesThatContentIsTooShort() {
        for source in [
            ObjectContent.Source.arrays([[1, 2]]), .buffers([]), .pieces { _, _ in 0 }, .pieces { _, _ in -1 },
        ] {
            let error = failure { () throws(ObjectError) in _ = try ObjectContent(size: 3, from: source) }
            #expect(error?.reason == .damaged)
        }
    }

    @Test func offersContentAgainThatWasNotConsumed() throws {
        var reader = ContentReader(.arrays([[1, 2, 3], [4]]), size: 4)
        var found: [[UInt8]] = []
        while try reader.next(
            atMost: 2,
            { bytes in
                found.append(Array(bytes))
                return 1
            })
        {}
        #expect(found == [[1, 2], [2, 3], [3], [4]])
    }

    @Test(
        arguments: [
            ("bytes 0-9/443", 0..<10, 443), ("bytes 5-5/*", 5..<6, nil),
        ] as [(String, Range<UInt64>, UInt64?)])
    func readsContentRange(text: String, range: Range<UInt64>, size: UInt64?) {
        let found = ContentRange(HTTPFields([HTTPField(name: "content-range", value: Array(text.utf8))]))
        #expect(found?.range == range)
        #expect(found?.size == size)
    }

    @Test(arguments: [
        "", "bytes */5", "bytes 1-0/5", "bytes -1-5/9", "bytes 0-18446744073709551615/9", "items 0-1/2", "bytes 0-1",
    ])
    func refusesContentRange(text: String) {
        #expect(ContentRange(HTTPFields([HTTPField(name: "content-range", value: Array(text.utf8))])) == nil)
    }
}
