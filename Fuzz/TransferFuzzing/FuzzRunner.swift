import TransferTestSupport

/// Runs inputs of one target. An input is any bytes, and shows whether a promise can be broken. A trap ends the
/// process, which is a finding too. Belongs to one task at a time.
package final class FuzzRunner {
    private let target: FuzzTarget

    /// The stores of the target `paths`, for all inputs.
    private var ground: PathGround?

    /// The directory for the lists of `known-servers` and `known-people`.
    private var directory: TemporaryDirectory?

    package init(_ target: FuzzTarget) {
        self.target = target
    }

    /// - Throws: the broken rule that the input has found.
    package func run(_ input: [UInt8]) throws(Finding) {
        switch target {
        case .frames: try FrameTarget.run(input)
        case .messages: try MessageTarget.run(input)
        case .server: try ServerTarget.run(input)
        case .client: try ClientTarget.run(input)
        case .conversations: try ConversationTarget.run(input)
        case .inflate: try InflateTarget.run(input)
        case .expand: try ExpandTarget.run(input)
        case .paths:
            let ground = if let ground { ground } else { try PathGround() }
            self.ground = ground
            try PathTarget.run(input, on: ground)
        case .receipts: try ReceiptTarget.run(input)
        case .arguments: try ArgumentTarget.run(input)
        case .configuration: try ConfigurationTarget.run(input)
        case .access: try AccessTarget.run(input)
        case .links: try LinkTarget.run(input)
        case .knownServers: try KnownServersTarget.run(input, in: ownDirectory())
        case .knownPeople: try KnownPeopleTarget.run(input, in: ownDirectory())
        case .records: try RecordTarget.run(input)
        case .batches: try BatchTarget.run(input)
        case .sealing: try SealingTarget.run(input)
        case .dialects: try DialectTarget.run(input)
        case .http: try HTTPTarget.run(input)
        case .forms: try FormTarget.run(input)
        case .fields: try FieldTarget.run(input)
        case .s3Answers: try S3AnswerTarget.run(input)
        case .appending: try AppendTarget.run(input)
        case .proxyHeaders: try ProxyHeaderTarget.run(input)
        case .discovery: try DiscoveryTarget.run(input)
        case .pictures: try PictureTarget.run(input)
        case .tls: try TLSTarget.run(input)
        }
    }

    private func ownDirectory() throws(Finding) -> TemporaryDirectory {
        if let directory { return directory }
        do throws(TemporaryDirectory.Failure) {
            let made = try TemporaryDirectory(prefersMemory: true)
            directory = made
            return made
        } catch {
            throw Finding("A directory cannot be made: \(error).")
        }
    }
}
