internal import TransferHTTP

/// The explanation of a failed request ("Error responses" in the S3 API reference).
package struct EngineProblem: Equatable, Sendable {
    /// Most characters of a code or message that are kept, because they are shown to people.
    package static let longestWords = 200

    /// The engine's code, such as `NoSuchKey`; empty if the answer has none, as answers of proxies.
    package private(set) var code = ""

    /// The engine's sentence; empty if the answer has no message.
    package private(set) var message = ""

    /// The region in which the bucket is, if the request was signed for another one.
    package private(set) var region = ""

    /// Reads the content of an answer. Content that is not an explanation gives an empty one.
    package init(_ content: [UInt8]) {
        var found = Self()
        do throws(XMLScanner.Fault) {
            try XMLScanner.read(content) { event in
                // The root is `Error`, or `ErrorResponse` with `Error` in it, as of STS.
                guard case .leaf(let path, let text) = event, path.dropLast().last == "Error", path.count <= 3 else {
                    return
                }
                let words = String(text.unicodeScalars.prefix(Self.longestWords).map { Character($0) })
                switch path.last {
                case "Code": found.code = words
                case "Message": found.message = words
                case "Region": found.region = words
                default: break
                }
            }
            self = found
        } catch {
            // The content comes from a proxy, or is cut; the status has to suffice.
        }
    }

    private init() {}
}

/// One page of a listing, as ListObjectsV2 answers it.
package struct ListAnswer: Equatable, Sendable {
    /// Most bytes of an answer: 1,000 keys of 3,072 encoded bytes, each with a kilobyte of other elements.
    static let largest = 1000 * (3 * ObjectKey.longest + 1024)

    package struct Entry: Equatable, Sendable {
        package let key: [UInt8]
        package let size: UInt64
    }

    package private(set) var entries: [Entry] = []
    package private(set) var isTruncated = false

    /// - Throws: a phrase if the answer is not a listing.
    package init(_ content: [UInt8]) throws(XMLScanner.Fault) {
        var (listing, key, size): (Self, String?, UInt64?) = (Self(), nil, nil)
        var (isEncoded, isListing) = (false, false)
        var raw: [(key: String, size: UInt64)] = []
        try XMLScanner.read(content) { (event) throws(XMLScanner.Fault) in
            switch event {
            case .leaf(let path, let text):
                if path.first == "ListBucketResult" { isListing = true }
                switch path.dropFirst().joined(separator: "/") {
                case "IsTruncated": listing.isTruncated = text == "true"
                case "EncodingType": isEncoded = text == "url"
                case "Contents/Key": key = text
                case "Contents/Size": size = UInt64(text)
                default: break
                }
            case .end(let path):
                if path.first == "ListBucketResult" { isListing = true }
                guard path.count == 2, path.last == "Contents" else { return }
                guard let name = key, let bytes = size else {
                    throw XMLScanner.Fault("an object has no key or no size")
                }
                raw.append((name, bytes))
                (key, size) = (nil, nil)
            }
        }
        guard isListing else { throw XMLScanner.Fault("it is not a listing") }
        for object in raw {
            let key = isEncoded ? PercentEncoding.decoded(object.key.utf8, plusIsSpace: true) : Array(object.key.utf8)
            guard let key else { throw XMLScanner.Fault("a key is not encoded as announced") }
            listing.entries.append(Entry(key: key, size: object.size))
        }
        self = listing
    }

    private init() {}
}
