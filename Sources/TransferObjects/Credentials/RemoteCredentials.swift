internal import TransferHTTP
internal import TransferIO
internal import TransferModel
internal import TransferSystem

/// Fetches temporary credentials from the services of a cloud. Each request has a connection to itself, because there
/// are few.
enum RemoteCredentials {
    /// Nanoseconds for a request to a service on this machine or beside it; the AWS SDKs wait one second, too.
    private static let nearPatience: Int64 = 1_000_000_000

    /// Nanoseconds for a request to the Security Token Service.
    private static let farPatience: Int64 = 5_000_000_000

    /// Most bytes of an answer: credentials with a token of 8,000 bytes, and some words.
    private static let largest = 32 << 10

    /// Seconds for which a token of the instance service is asked: a minute suffices for the two requests behind it.
    private static let tokenLife = "60"

    /// Most bytes of a token file. Tokens of Kubernetes have some 1,000.
    private static let largestToken = 16 << 10

    static func fetch(
        from service: CredentialSource.ContainerService, _ source: CredentialSource
    ) throws(ObjectError) -> Credentials {
        var fields: [(name: String, value: String)] = []
        // The file wins, because its token is replaced from time to time.
        if let file = service.tokenFile {
            fields.append(("authorization", try token(in: file)))
        } else if let token = service.token {
            fields.append(("authorization", token))
        }
        return try credentials(in: try ask(source, .get, service.address, fields), source)
    }

    static func fetch(
        fromInstance endpoint: String, _ source: CredentialSource
    ) throws(ObjectError) -> Credentials {
        let base = endpoint.utf8.last == UInt8(ascii: "/") ? String(endpoint.dropLast()) : endpoint
        let token = try ask(
            source, .put, "\(base)/latest/api/token", [("x-aws-ec2-metadata-token-ttl-seconds", tokenLife)])
        let fields = [(name: "x-aws-ec2-metadata-token", value: String(decoding: token, as: UTF8.self))]
        let path = "\(base)/latest/meta-data/iam/security-credentials/"
        let roles = try ask(source, .get, path, fields)
        let role = String(decoding: roles.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        guard !role.isEmpty else { throw ObjectError(.refused, "This instance has no role that gives credentials.") }
        return try credentials(in: try ask(source, .get, path + PercentEncoding.component(role.utf8), fields), source)
    }

    static func fetch(
        for identity: CredentialSource.WebIdentity, _ source: CredentialSource
    ) throws(ObjectError) -> Credentials {
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", identity.role),
            ("RoleSessionName", identity.session), ("WebIdentityToken", try token(in: identity.tokenFile)),
        ].map { "\($0)=\(PercentEncoding.component($1.utf8))" }.joined(separator: "&")
        let answer = try ask(
            source, .post, identity.service, [("content-type", "application/x-www-form-urlencoded")],
            content: Array(form.utf8), authorities: identity.authorities, patience: farPatience)
        var values: [String: String] = [:]
        do throws(XMLScanner.Fault) {
            try XMLScanner.read(answer) { event in
                guard case .leaf(let path, let text) = event, path.dropLast().last == "Credentials" else { return }
                values[path.last ?? ""] = text
            }
        } catch {
            throw unusable(source)
        }
        return try credentials(
            values["AccessKeyId"], values["SecretAccessKey"], values["SessionToken"], values["Expiration"], source)
    }

    // MARK: Answers

    /// Reads the JSON of container and instance services.
    private static func credentials(in json: [UInt8], _ source: CredentialSource) throws(ObjectError) -> Credentials {
        guard let node = try? JSONReader.read(json, mostValues: 100) else { throw unusable(source) }
        func text(_ key: String) -> String? { if case .string(let text)? = node[key] { text } else { nil } }
        return try credentials(
            text("AccessKeyId"), text("SecretAccessKey"), text("Token"), text("Expiration"), source)
    }

    private static func credentials(
        _ key: String?, _ secret: String?, _ token: String?, _ expires: String?, _ source: CredentialSource
    ) throws(ObjectError) -> Credentials {
        guard let key, let secret, let expires = expires.flatMap({ time($0) }),
            let credentials = Credentials(accessKey: key, secret: secret, token: token, expires: expires)
        else { throw unusable(source) }
        return credentials
    }

    /// Reads a time of RFC 3339 in UTC, with or without a fraction of the second.
    private static func time(_ text: String) -> UTCTime? {
        guard let time = WrittenTime(text), time.isUTC, time.precision != .day else { return nil }
        return UTCTime(clamping: time.calendar.secondsSince1970)
    }

    private static func unusable(_ source: CredentialSource) -> ObjectError {
        ObjectError(.refused, "The answer of \(source.name) has no usable credentials.")
    }

    private static func token(in file: String) throws(ObjectError) -> String {
        let bytes = try CredentialSource.text(of: file, atMost: largestToken)
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
    }

    // MARK: Requests

    private static func ask(
        _ source: CredentialSource, _ method: HTTPMethod, _ address: String, _ fields: [(name: String, value: String)],
        content: [UInt8] = [], authorities: String? = nil, patience: Int64 = nearPatience
    ) throws(ObjectError) -> [UInt8] {
        guard let parsed = WebAddress(address) else {
            throw ObjectError(.misconfigured, "The address of \(source.name) is not an HTTP URL.")
        }
        let origin = try Origin(parsed, authorities: authorities)
        let body = method == .get ? nil : try ObjectContent([content])
        let all = [(name: "host", value: origin.hostField)] + fields
        guard let request = OutgoingRequest(method, parsed.path, all, content: body) else {
            throw ObjectError(.refused, "A token for \(source.name) has characters that cannot be sent.")
        }
        let answer: HTTPAnswer
        do throws(ExchangeFault) {
            let deadline = monotonicDeadline(after: patience)
            let socket = try origin.connect(attempt: patience, until: deadline)
            answer = try Exchange.run(
                request, on: socket, into: .array(atMost: largest), times: ExchangeTimes(), until: deadline)
            socket.sayGoodbye()
        } catch {
            throw ObjectError(
                .unreachable, "Credentials cannot be fetched: \(source.name) at \(parsed.hostField): \(error.words).")
        }
        guard answer.isSuccess else {
            let code = EngineProblem(answer.content).code
            let words = code.isEmpty ? "the status \(answer.head.status)" : code.escapedForDisplay
            let isTransient = answer.head.status >= 500 || answer.head.status == 429
            throw ObjectError(
                isTransient ? .busy : .refused, "Credentials cannot be fetched: \(source.name) answered \(words).")
        }
        return answer.content
    }
}

extension ExchangeFault {
    /// A description that follows a colon.
    var words: String {
        switch cause {
        case .resolution(let host, let reason): "the name '\(host)' cannot be resolved: \(reason)"
        case .stream(let error): error.reason
        case .silence: "it did not answer in time"
        case .crowded: "all connections were in use for too long"
        case .malformed(let message): message.utf8.last == UInt8(ascii: ".") ? String(message.dropLast()) : message
        case .content(let error): error.message
        }
    }
}
