internal import TransferHTTP
internal import TransferModel

/// The meaning of a failed answer. The engine's code decides, and the status if the code is unknown: engines differ in
/// statuses, and proxies have no codes ("List of error codes" in the S3 API reference).
enum EngineVerdict {
    /// Codes with which other credentials may succeed, because the present ones were replaced or have ended.
    static let renewableCodes: Set<String> = [
        "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken", "RequestExpired",
        "TokenRefreshRequired",
    ]

    private static let reasons: [String: ObjectError.Reason] = [
        "NoSuchKey": .notFound, "NoSuchBucket": .noBucket,
        "AccessDenied": .forbidden, "AllAccessDisabled": .forbidden, "AccountProblem": .forbidden,
        "MethodNotAllowed": .forbidden,
        "ExpiredToken": .refused, "ExpiredTokenException": .refused, "InvalidAccessKeyId": .refused,
        "InvalidToken": .refused, "InvalidSecurity": .refused, "RequestExpired": .refused,
        "SignatureDoesNotMatch": .refused, "TokenRefreshRequired": .refused,
        "RequestTimeTooSkewed": .clockSkew,
        "BandwidthLimitExceeded": .busy, "InternalError": .busy, "InternalFailure": .busy, "OperationAborted": .busy,
        "PriorRequestNotComplete": .busy, "RequestLimitExceeded": .busy, "RequestThrottled": .busy,
        "RequestTimeout": .busy, "ServiceUnavailable": .busy, "SlowDown": .busy, "SlowDownRead": .busy,
        "SlowDownWrite": .busy, "TemporaryRedirect": .busy, "Throttling": .busy, "ThrottlingException": .busy,
        "TooManyRequests": .busy, "TooManyRequestsException": .busy,
        "BucketQuotaExceeded": .full, "InsufficientCapacity": .full, "InsufficientStorage": .full,
        "QuotaExceeded": .full, "StorageFull": .full, "XMinioAdminBucketQuotaExceeded": .full,
        "XMinioStorageFull": .full,
        "BadDigest": .damaged, "ContentSHA256Mismatch": .damaged, "IncompleteBody": .damaged,
        "InvalidDigest": .damaged, "InvalidRange": .damaged, "XAmzContentChecksumMismatch": .damaged,
        "XAmzContentSHA256Mismatch": .damaged,
        "AuthorizationHeaderMalformed": .misconfigured, "PermanentRedirect": .misconfigured,
    ]

    private static func reason(_ status: Int, _ code: String) -> ObjectError.Reason {
        if let known = reasons[code] { return known }
        return switch status {
        case 401: .refused
        case 403, 405: .forbidden
        case 307, 408, 429, 500, 502, 503, 504: .busy
        case 413, 507: .full
        case 416: .damaged
        // A 404 without a code is not the answer of an object store, so it says nothing about the object.
        default: .misconfigured
        }
    }

    /// The error for an answer that is not a success.
    ///
    /// - Parameters:
    ///   - action: what was tried: "Storing 'KEY'".
    ///   - now: seconds since 1970, for a Retry-After that is a date.
    static func error(
        _ action: String, of address: S3Address, _ head: ResponseHead, _ problem: EngineProblem, now: Int64
    ) -> ObjectError {
        let reason = reason(head.status, problem.code)
        let wait = RetryAfter(head.fields)?.seconds(now: now).map { Interval.seconds(Double($0)) }
        var words = "\(head.status)"
        if !problem.code.isEmpty { words += " \(problem.code.escapedForDisplay)" }
        if !problem.message.isEmpty { words += " (\(problem.message.escapedForDisplay))" }
        let advice = advice(reason, address, problem)
        return ObjectError(
            reason, "\(action) failed: the object store at \(address.endpoint.hostField) answered \(words).\(advice)",
            wait: wait)
    }

    private static func advice(_ reason: ObjectError.Reason, _ address: S3Address, _ problem: EngineProblem) -> String {
        switch reason {
        case .busy, .unreachable, .untrusted, .notFound, .damaged: return ""
        case .refused: return " Check the access key, the secret and the session token."
        case .forbidden:
            return " Allow these credentials to get, put, delete and list objects in the bucket '\(address.bucket)'."
        case .noBucket: return " Create the bucket '\(address.bucket)', or name another one."
        case .full: return " Free storage, or raise the quota of the bucket."
        case .clockSkew: return " Set the clock of this machine."
        case .misconfigured where !problem.region.isEmpty:
            return " The bucket is in the region '\(problem.region.escapedForDisplay)': set AWS_REGION."
        case .misconfigured: return " Check the address, the region and the style of the bucket."
        }
    }
}
