/// Reason phrases of RFC 9110, section 15, and, where noted, of other entries in IANA's registry.
package enum HTTPStatus {
    /// - Returns: nil for an unknown status.
    package static func reason(_ status: Int) -> String? { phrases[status] }

    private static let phrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols",
        // draft-ietf-httpbis-resumable-upload.
        104: "Upload Resumption Supported",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content",
        // RFC 4918.
        207: "Multi-Status",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content",
        // RFC 4918.
        423: "Locked", 424: "Failed Dependency",
        426: "Upgrade Required",
        // RFC 6585; 460 is of tus 1.0.0 (checksum extension).
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        460: "Checksum Mismatch",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported",
        // RFC 4918.
        507: "Insufficient Storage",
    ]
}
