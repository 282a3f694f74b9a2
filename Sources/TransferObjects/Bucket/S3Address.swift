package import TransferHTTP

/// A bucket, the prefix of all keys in it, and the engine that has it.
package struct S3Address: Equatable, Sendable {
    /// Where a request names the bucket ("Virtual hosting of buckets" in the S3 user guide).
    package enum Style: String, Sendable, CaseIterable {
        /// In front of the path: `https://HOST/BUCKET/KEY`. All engines but the newest buckets of AWS.
        case path
        /// In front of the host: `https://BUCKET.HOST/KEY`. AWS.
        case host
    }

    package let bucket: String

    /// Segments in front of all keys, without a slash at either end; empty for none.
    package let prefix: String

    /// The engine's address, whose path is `/`.
    package let endpoint: WebAddress

    package let region: String

    package let style: Style

    /// Bytes of the shortest and the longest name of a bucket ("Bucket naming rules").
    private static let bucketSizes = 3...63

    /// Most bytes of a prefix: half of a key remains for the names of objects.
    private static let longestPrefix = ObjectKey.longest / 2

    /// Variables of the environment that decide about the address or the credentials.
    package static let variables = [
        "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ROLE_ARN",
        "AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL_STS", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "HOME",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_EC2_METADATA_DISABLED",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    ]

    /// Choices besides the location; nil for those that the environment makes.
    package struct Options: Sendable {
        /// URL of the engine, such as `https://s3.example:9000`.
        package var endpoint: String?
        package var region: String?
        package var style: Style?

        package init(endpoint: String? = nil, region: String? = nil, style: Style? = nil) {
            (self.endpoint, self.region, self.style) = (endpoint, region, style)
        }
    }

    /// Reads `s3://BUCKET[/PREFIX]` and completes it by options and the variables that AWS's tools know.
    ///
    /// - Throws: `misconfigured` with what is wrong.
    package init(
        _ text: String, _ options: Options = Options(), environment: [String: String]
    ) throws(ObjectError) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        (bucket, prefix) = try Self.location(text)
        let named = options.endpoint ?? variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL")
        let known = options.region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
        // Engines beside AWS accept any region, and most demand the name of the oldest one.
        guard let region = known ?? (named == nil ? nil : "us-east-1") else {
            throw ObjectError(.misconfigured, "The region of the bucket is missing: set AWS_REGION.")
        }
        guard Self.isRegion(region) else {
            throw ObjectError(.misconfigured, "'\(region)' is no region: those have small letters, digits and hyphens.")
        }
        self.region = region
        let url = named ?? "https://s3.\(region).amazonaws.com"
        guard let endpoint = WebAddress(url), endpoint.path == "/", endpoint.credentials == nil else {
            throw ObjectError(
                .misconfigured, "'\(url)' is no address of an object store: it has the form https://HOST[:PORT].")
        }
        self.endpoint = endpoint
        let isAmazon = endpoint.host.hasSuffix(".amazonaws.com") || endpoint.host.hasSuffix(".amazonaws.com.cn")
        // A certificate for all buckets does not cover names with dots.
        style = options.style ?? (isAmazon && !bucket.utf8.contains(UInt8(ascii: ".")) ? .host : .path)
    }

    private static func location(_ text: String) throws(ObjectError) -> (bucket: String, prefix: String) {
        let scheme = "s3://"
        guard text.utf8.starts(with: scheme.utf8) else {
            throw ObjectError(.misconfigured, "'\(text)' is no bucket: it has the form s3://BUCKET[/PREFIX].")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let bucket = String(Substring(rest.prefix { $0 != UInt8(ascii: "/") }))
        guard isBucket(bucket) else {
            throw ObjectError(
                .misconfigured,
                "'\(bucket)' is no name of a bucket: it has 3 to 63 small letters, digits, hyphens and dots.")
        }
        var prefix = rest.dropFirst(bucket.utf8.count).drop { $0 == UInt8(ascii: "/") }
        if prefix.last == UInt8(ascii: "/") { prefix = prefix.dropLast() }
        guard prefix.isEmpty || isPrefix(prefix) else {
            throw ObjectError(
                .misconfigured,
                "'\(Substring(prefix))' is no prefix: it has letters, digits, '-', '_', '.' and single slashes.")
        }
        return (bucket, String(Substring(prefix)))
    }

    private static func isBucket(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard bucketSizes.contains(bytes.count), let first = bytes.first, let last = bytes.last, isSmall(first),
            isSmall(last), bytes.allSatisfy({ isSmall($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") })
        else { return false }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A name may not look like an IPv4 address.
        let isNumeric = labels.count == 4 && labels.allSatisfy { $0.allSatisfy { (0x30...0x39).contains($0) } }
        return labels.allSatisfy { !$0.isEmpty } && !isNumeric
    }

    private static func isPrefix(_ prefix: some Collection<UInt8>) -> Bool {
        let isPlain = prefix.allSatisfy { byte in
            isSmall(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || "-_./".utf8.contains(byte)
        }
        return isPlain && prefix.count <= longestPrefix && ObjectKey(String(decoding: prefix, as: UTF8.self)) != nil
    }

    /// Whether the text can be in a scope and in a host name. `auto` is a region, too.
    private static func isRegion(_ region: String) -> Bool {
        (1...63).contains(region.utf8.count) && region.utf8.allSatisfy { isSmall($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isSmall(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// The server that requests are sent to. It includes the bucket if the style does.
    var server: WebAddress? {
        guard style == .host else { return endpoint }
        let port = endpoint.port == (endpoint.isSecure ? 443 : 80) ? "" : ":\(endpoint.port)"
        return WebAddress("\(endpoint.isSecure ? "https" : "http")://\(bucket).\(endpoint.host)\(port)")
    }

    /// The path of the bucket in a request, without a slash at its end.
    var bucketPath: String { style == .path ? "/" + bucket : "" }
}

extension S3Address: CustomStringConvertible {
    package var description: String { "s3://\(bucket)\(prefix.isEmpty ? "" : "/" + prefix) at \(endpoint.hostField)" }
}
