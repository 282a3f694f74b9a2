/// What can be wrong with a compressed frame.
package enum CodecError: Error, Equatable {
    /// Not one whole zlib stream: damaged, cut short, followed by something, or made with a preset dictionary.
    case corrupt
    /// It inflates to more than the frame may hold.
    case tooLarge
}
