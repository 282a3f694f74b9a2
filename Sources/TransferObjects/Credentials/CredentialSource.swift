internal import TransferHTTP
internal import TransferModel
internal import TransferSystem

/// The place that credentials come from, as AWS's tools choose it ("AWS SDKs and Tools: Standardized credential
/// providers").
package enum CredentialSource: Sendable {
    /// Keys of the environment, or of a test.
    case fixed(Credentials)
    /// A profile of the shared credentials file.
    case file(path: String, profile: String)
    /// A service beside the container (ECS, EKS Pod Identity).
    case container(ContainerService)
    /// A token file that is exchanged for the credentials of a role at the Security Token Service.
    case webIdentity(WebIdentity)
    /// The instance metadata service, version 2.
    case instance(endpoint: String)

    /// The address of a container's credentials, and the token that it demands.
    package struct ContainerService: Equatable, Sendable {
        let address: String
        var token: String?
        var tokenFile: String?

        /// The address in front of `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`.
        static let host = "http://169.254.170.2"

        /// Hosts that may be asked without TLS: of ECS, and of EKS Pod Identity.
        private static let plainHosts = [
            "localhost", "127.0.0.1", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23",
        ]

        /// Whether the keys would stay on this machine or be encrypted.
        var isProtected: Bool {
            guard let parsed = WebAddress(address) else { return false }
            return parsed.isSecure || Self.plainHosts.contains { parsed.host.hasSameBytes(as: $0) }
        }
    }

    /// A role, and the file with the token that proves the right to it.
    package struct WebIdentity: Equatable, Sendable {
        let tokenFile: String
        let role: String
        let session: String
        /// The address of the Security Token Service.
        let service: String
        /// File with the only trusted certificates for the service; nil for the system's.
        var authorities: String?
    }

    /// Files that are read again and again, so that a confined process needs access to them.
    package var files: [String] {
        switch self {
        case .fixed, .instance: []
        case .file(let path, _): [path]
        case .container(let service): [service.tokenFile].compactMap(\.self)
        case .webIdentity(let identity): [identity.tokenFile]
        }
    }

    /// TCP ports of the services that the credentials come from, so that a confined process may connect to them.
    package var ports: [UInt16] {
        let address: String
        switch self {
        case .fixed, .file: return []
        case .container(let service): address = service.address
        case .webIdentity(let identity): address = identity.service
        case .instance(let endpoint): address = endpoint
        }
        return [WebAddress(address)?.port].compactMap(\.self)
    }

    /// The place in words, for messages.
    var name: String {
        switch self {
        case .fixed: "the environment"
        case .file(let path, let profile): "profile '\(profile)' in '\(path)'"
        case .container: "the container's credential service"
        case .webIdentity: "the Security Token Service"
        case .instance: "the instance metadata service"
        }
    }

    /// Whether the credentials may change, so that fetching them again can help.
    var isRenewable: Bool { if case .fixed = self { false } else { true } }

    /// Chooses the source by the variables of the environment: keys, web identity, shared file, container, instance.
    ///
    /// - Parameter region: the region whose Security Token Service is asked.
    /// - Throws: `refused` if variables contradict themselves.
    package static func chosen(
        _ environment: [String: String], region: String
    ) throws(ObjectError) -> CredentialSource {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let key = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") {
            let token = variable("AWS_SESSION_TOKEN")
            guard let credentials = Credentials(accessKey: key, secret: secret, token: token) else {
                throw ObjectError(
                    .refused, "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN has invalid characters.")
            }
            return .fixed(credentials)
        }
        if let file = variable("AWS_WEB_IDENTITY_TOKEN_FILE"), let role = variable("AWS_ROLE_ARN") {
            let service = variable("AWS_ENDPOINT_URL_STS") ?? "https://sts.\(region).amazonaws.com"
            return .webIdentity(
                WebIdentity(
                    tokenFile: file, role: role, session: variable("AWS_ROLE_SESSION_NAME") ?? "transfer",
                    service: service))
        }
        if let file = sharedFile(variable) { return file }
        return try service(variable)
    }

    /// The shared file, if a variable names it or its profile, or if it exists in the home directory.
    private static func sharedFile(_ variable: (String) -> String?) -> CredentialSource? {
        let profile = variable("AWS_PROFILE")
        let named = variable("AWS_SHARED_CREDENTIALS_FILE")
        guard let path = named ?? variable("HOME").map({ $0 + "/.aws/credentials" }) else { return nil }
        guard named == nil, profile == nil else { return .file(path: path, profile: profile ?? "default") }
        let file = try? OwnFile(reading: path, atMost: CredentialsFile.largest, followsLink: true)
        guard let file, CredentialsFile.credentials(in: file.content, profile: "default") != nil else { return nil }
        return .file(path: path, profile: "default")
    }

    private static func service(_ variable: (String) -> String?) throws(ObjectError) -> CredentialSource {
        let address =
            variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map { ContainerService.host + $0 }
            ?? variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        if let address {
            let service = ContainerService(
                address: address, token: variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                tokenFile: variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"))
            guard service.isProtected else {
                throw ObjectError(
                    .refused,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is not an HTTPS address, and not one of this machine.")
            }
            return .container(service)
        }
        if variable("AWS_EC2_METADATA_DISABLED")?.lowercased() == "true" {
            throw ObjectError(
                .refused,
                "There are no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
                    + "them to ~/.aws/credentials.")
        }
        return .instance(endpoint: variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254")
    }

    /// Fetches the credentials. May wait for files and services, up to some seconds.
    ///
    /// - Throws: `refused` if no credentials exist, `unreachable` if a service does not answer.
    func fetch() throws(ObjectError) -> Credentials {
        switch self {
        case .fixed(let credentials): return credentials
        case .file(let path, let profile): return try Self.read(path, profile)
        case .container(let service): return try RemoteCredentials.fetch(from: service, self)
        case .webIdentity(let identity): return try RemoteCredentials.fetch(for: identity, self)
        case .instance(let endpoint): return try RemoteCredentials.fetch(fromInstance: endpoint, self)
        }
    }

    private static func read(_ path: String, _ profile: String) throws(ObjectError) -> Credentials {
        let content = try text(of: path, atMost: CredentialsFile.largest)
        guard let credentials = CredentialsFile.credentials(in: content, profile: profile) else {
            throw ObjectError(.refused, "The file '\(path)' has no keys for the profile '\(profile)'.")
        }
        return credentials
    }

    /// The content of a small file, such as a token.
    static func text(of path: String, atMost limit: Int) throws(ObjectError) -> [UInt8] {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: limit, followsLink: true)
        } catch {
            throw ObjectError(.refused, "The file '\(path)' with credentials cannot be read: \(error).")
        }
        guard let file else { throw ObjectError(.refused, "The file '\(path)' with credentials does not exist.") }
        guard !file.isLonger else { throw ObjectError(.refused, "The file '\(path)' has more than \(limit) bytes.") }
        return file.content
    }
}
