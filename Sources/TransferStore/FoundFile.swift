import TransferSystem

/// An open file that has the name and the content of an upload already.
final class FoundFile: Sendable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
