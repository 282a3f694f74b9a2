internal import TransferHTTP
internal import TransferModel

/// Signs requests by AWS Signature Version 4 ("Signature Calculations for the Authorization Header" in the S3 API
/// reference). The caller sends exactly the target that this type writes, so that engine and client cannot differ about
/// the encoding.
struct RequestSigner: Sendable {
    /// Name of the algorithm in the signed text and in `Authorization`.
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Last part of the scope, which is the same for all requests.
    private static let terminator = "aws4_request"

    /// The region in which the bucket is, such as `us-east-1`.
    let region: String

    /// The service of the request: `s3`, or `sts` for temporary credentials.
    var service = "s3"

    /// The parts of a request that are signed.
    struct Request {
        var method: HTTPMethod
        /// The path, not encoded, beginning with a slash.
        var path: String
        /// Names and values of the query, not encoded, in any order.
        var query: [(name: String, value: String)] = []
        /// All fields, with Host. Names are in lower case, and each occurs once.
        var fields: [(name: String, value: String)]
        /// Digest of the content in hexadecimal, which is also the value of `x-amz-content-sha256`.
        var payload: String

        /// Path and query as they are sent and signed. Unlike other services, S3 encodes the path once, and does not
        /// normalise it.
        var target: String {
            let query = canonicalQuery
            return query.isEmpty ? canonicalPath : canonicalPath + "?" + query
        }

        var canonicalPath: String { PercentEncoding.path(path.utf8) }

        /// Encoded names and values in the order of their bytes. A name without a value has an equals sign, too.
        var canonicalQuery: String {
            query.map { (PercentEncoding.component($0.name.utf8), PercentEncoding.component($0.value.utf8)) }
                .sorted { a, b in
                    a.0 == b.0
                        ? a.1.utf8.lexicographicallyPrecedes(b.1.utf8) : a.0.utf8.lexicographicallyPrecedes(b.0.utf8)
                }
                .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        }

        fileprivate var sortedFields: [(name: String, value: String)] {
            fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }

        var signedNames: String { sortedFields.map(\.name).joined(separator: ";") }

        var canonicalText: String {
            let lines = sortedFields.map { "\($0.name):\(Self.collapsed($0.value))\n" }.joined()
            return [method.name, canonicalPath, canonicalQuery, lines, signedNames, payload].joined(separator: "\n")
        }

        /// A value without spaces around it, and with one space for each run of them.
        private static func collapsed(_ value: String) -> String {
            value.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }.joined(separator: " ")
        }
    }

    /// The value of `Authorization`.
    ///
    /// - Parameter time: the time in the request's `x-amz-date`, as `stamp` writes it.
    func authorization(_ request: Request, _ credentials: Credentials, at time: UTCTime) -> String {
        let scope = "\(Self.day(time))/\(region)/\(service)/\(Self.terminator)"
        let digest = SHA256Digest(of: Array(request.canonicalText.utf8))
        let text = "\(Self.algorithm)\n\(Self.stamp(time))\n\(scope)\n\(digest)"
        var key = Array("AWS4\(credentials.secret)".utf8)
        for part in [Self.day(time), region, service, Self.terminator] {
            key = authenticationCode(key, Array(part.utf8))
        }
        let signature = String(hexadecimal: authenticationCode(key, Array(text.utf8)))
        return "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope),"
            + "SignedHeaders=\(request.signedNames),Signature=\(signature)"
    }

    /// A time as `x-amz-date` has it: `20130524T000000Z`.
    static func stamp(_ time: UTCTime) -> String {
        Timestamp(seconds: time.seconds, nanoseconds: 0).text(.seconds, .basic)
    }

    private static func day(_ time: UTCTime) -> String { String(Substring(stamp(time).utf8.prefix(8))) }
}
