/// What the first number of the `sized` framing counts: programs differ.
package enum SizedTotal: String, Sendable, CaseIterable {
    /// The content and the 8 bytes in front of it.
    case whole
    /// The content alone.
    case content

    /// Bytes that are counted beside the content.
    var overhead: Int32 {
        switch self {
        case .whole: Int32(SizedConversation.headSize)
        case .content: 0
        }
    }
}
