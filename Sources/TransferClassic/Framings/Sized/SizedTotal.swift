/// The bytes that the first number of the `sized` framing counts, in which programs differ.
package enum SizedTotal: String, Sendable, CaseIterable {
    /// The content and the 8 bytes before it.
    case whole
    /// The content without the head.
    case content

    /// The bytes that are counted besides the content.
    var overhead: Int32 {
        switch self {
        case .whole: Int32(SizedConversation.headSize)
        case .content: 0
        }
    }
}
