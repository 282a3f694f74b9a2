/// Colours of words, by the numbers of ECMA-48 that every terminal has.
enum Colour: Int {
    case red = 31
    case green = 32
    case yellow = 33

    /// The text in this colour, if colours are on.
    func paint(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text }
}
